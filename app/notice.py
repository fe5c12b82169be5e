"""Notices in the chat."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Notice:
    """A message of the app.

    Attributes:
        offer: "load" shows buttons that choose another model or load the demo pair.
        until: when it becomes outdated: models have loaded, or no reply and no comparison runs.
    """

    text: str
    kind: Literal["info", "error"] = "info"
    offer: Literal["", "load"] = ""
    until: Literal["", "loaded", "idle"] = ""
