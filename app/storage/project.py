"""A project: a group of chats, and what its new chats begin with."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.storage.json_values import as_dict, read_as
from app.storage.recent_model import RecentModel
from app.storage.settings import ChatSettings


@dataclass(frozen=True)
class Project:
    """A group of chats.

    Attributes:
        new_chats: the settings of its new chats; None for those of all new chats.
        documents: absolute paths of the folders and files that the Documents tool searches in its chats.
        model: the pair or connection of its new chats; None for the one in use.
    """

    id: str
    name: str
    created: float
    new_chats: ChatSettings | None = None
    documents: tuple[str, ...] = ()
    model: RecentModel | None = None

    @property
    def harmless(self) -> "Project":
        """The project without what gives models access to something, or chooses a model."""
        new_chats = self.new_chats and replace(self.new_chats, tool_servers=(), example_servers=())
        return replace(self, new_chats=new_chats, documents=(), model=None)

    def options(self) -> dict[str, Any]:
        """Return everything but the ID, the name, and the date as JSON values."""
        return {
            "new_chats": self.new_chats and self.new_chats.to_json(),
            "documents": list(self.documents),
            "model": self.model and asdict(self.model),
        }

    def with_options(self, data: object) -> "Project":
        """Return the project with these options.

        Missing or mistyped fields get their defaults.
        """
        found = as_dict(data)
        new_chats, documents = found.get("new_chats"), read_as(tuple[str, ...], found.get("documents"), ())
        return replace(
            self,
            new_chats=ChatSettings.from_json(new_chats) if isinstance(new_chats, Mapping) else None,
            documents=tuple(dict.fromkeys(filter(os.path.isabs, documents))),
            model=read_as(RecentModel, found.get("model"), None),
        )
