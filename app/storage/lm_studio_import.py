"""Import of LM Studio's conversations.

They are the files *.conversation.json in its folder `conversations`. Each of the `messages` has `versions`, and
`currentlySelected` is the number of the shown one. A version has `content`, or `steps`, each with content; the style “thinking”
marks thoughts. Attached files are in the folder `user-files`. Times count milliseconds; of messages, only those of replies are
known, by the start of their `stepIdentifier`. Tool calls and their results are left out.

LM Studio doesn't document the format (lmstudio.ai/docs/app/basics/chat names the folder). These fields are those on which several
public readers and writers of the files agree, such as YorkieDev/lm-studio-conversation-converter.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

from app.storage.attached_files import cleaned
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.imported_files import LinkedImages
from app.storage.imported_messages import add_answer, add_question, derived_id, moment, name_untitled
from app.storage.json_values import as_dict, as_list, as_text
from app.storage.salvage import ImportedChat
from app.storage.settings import ChatSettings
from app.text.plain_text import NEW_CHAT
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_json

LM_STUDIO = "LM Studio"
FILES_FOLDER = "user-files"
_SYSTEM = "llm.prediction.systemPrompt"


def is_lm_studio_chat(data: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether JSON is a conversation, which may have no messages yet."""
    if not isinstance(data, Mapping) or not isinstance(messages := data.get("messages"), list):
        return False
    return any("versions" in as_dict(one) for one in messages) or (not messages and "lastUsedModel" in data)


def lm_studio_chat(data: Mapping[str, Any], images: LinkedImages, place: Path | None = None) -> ImportedChat:
    """Read one conversation with all versions of its messages.

    Args:
        data: the conversation.
        images: gets its images.
        place: the folder of its file.
    """
    title, created = as_text(data.get("name")).strip(), moment(data.get("createdAt"))
    chat = Chat(title or NEW_CHAT, ChatSettings(system=_system(data)))
    chat.created = created or chat.created
    answered = max(moment(data.get(name)) for name in ("userLastMessagedAt", "assistantLastMessagedAt"))
    chat.changed = max(answered, chat.created)
    reader = _Reader(as_text(as_dict(data.get("lastUsedModel")).get("identifier")) or LM_STUDIO, images, _files_folder(place))
    above, latest, source = chat.root, chat.created, ""
    for position, message in enumerate(map(as_dict, data["messages"])):
        versions, shown = [as_dict(one) for one in as_list(message.get("versions"))], above
        for number, version in enumerate(versions):
            node = reader.add(above, version, latest, joins=len(versions) == 1)
            if node is above:
                continue
            source = source or f"{data.get('createdAt')}\0{node.text}"  # the file's name may change
            node.id = derived_id(LM_STUDIO, source, f"{position}\0{number}")
            if shown is above or number == message.get("currentlySelected"):
                shown = node
        above, latest = shown, max(latest, shown.created)
    chat.choose(above)
    if source and created:
        chat.id = derived_id(LM_STUDIO, source)
    name_untitled(chat, title)
    return ImportedChat(chat, pinned=data.get("pinned") is True, dated=created > 0)


def _system(data: Mapping[str, Any]) -> str:
    fields = map(as_dict, as_list(as_dict(data.get("perChatPredictionConfig")).get("fields")))
    own = next((as_text(field.get("value")) for field in fields if field.get("key") == _SYSTEM), "")
    return own or as_text(data.get("systemPrompt"))


def _files_folder(place: Path | None) -> Path | None:
    """Return LM Studio's folder for files, next to the one with all conversations."""
    found = [above / FILES_FOLDER for above in (place, *place.parents)] if place is not None else []
    return next((folder for folder in found if folder.is_dir()), None)


class _Reader:
    """A reader of a conversation's messages."""

    def __init__(self, model: str, images: LinkedImages, files: Path | None) -> None:
        self._model, self._images, self._files = model, images, files

    def add(self, above: Node, version: Mapping[str, Any], earliest: float, joins: bool) -> Node:
        """Add a version of a message, and return it, or `above` if it is left out."""
        if version.get("role") == "user":
            text, attached = self._content(version.get("content"))
            return add_question(above, text, attached, earliest)
        if version.get("role") != "assistant":
            return above
        answers, thoughts, created = list[str](), list[str](), earliest
        model = as_text(as_dict(version.get("senderInfo")).get("senderName"))
        for step in map(as_dict, as_list(version.get("steps"))) if "steps" in version else (version,):
            text, _ = self._content(step.get("content"))
            (thoughts if as_dict(step.get("style")).get("type") == "thinking" else answers).append(text)
            created = _step_time(step) or created
            model = as_text(as_dict(step.get("genInfo")).get("identifier")) or model
        answer, thinking = ("\n\n".join(filter(None, texts)) for texts in (answers, thoughts))
        return add_answer(above, answer, thinking, model or self._model, created, joins)

    def _content(self, content: object) -> tuple[str, tuple[Attachment, ...]]:
        """Return the text and the images of a message, with names of other files."""
        pieces, names, attached = [], [], []
        for part in map(as_dict, as_list(content)):
            if part.get("type") == "text":
                text = as_text(part.get("text"))
                is_tag = part.get("isStructural") is True and text.strip().startswith("<")  # such as <think>
                pieces += [] if is_tag else [text]
            elif part.get("type") == "file":
                image, name = self._file(as_text(part.get("fileIdentifier")))
                attached += [image] if image is not None else []
                names += [f"[{name}]"] if image is None else []
        return "\n\n".join(filter(None, ("".join(pieces), *names))), tuple(attached)

    def _file(self, identifier: str) -> tuple[Attachment | None, str]:
        """Return a file if it is an image, and its name."""
        name = cleaned(identifier)
        if self._files is None or not identifier or Path(identifier).name != identifier:
            return None, name
        with suppress(UserError):
            about = as_dict(read_json(self._files / f"{identifier}.metadata.json"))
            name = cleaned(as_text(about.get("originalName")) or identifier)
        return self._images.image(self._files / identifier, name), name


def _step_time(step: Mapping[str, Any]) -> float:
    """Return when a step of a reply began, in seconds since 1970, or 0."""
    start = as_text(step.get("stepIdentifier")).partition("-")[0]
    return moment(float(start)) if start.isascii() and start.isdecimal() and len(start) == 13 else 0.0


def lm_studio_files(folder: Path) -> Iterator[Path]:
    """Yield the conversations in a folder and the folders in it."""
    yield from sorted(folder.rglob("*.conversation.json"))
