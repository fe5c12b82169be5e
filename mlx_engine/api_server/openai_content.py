"""Messages in OpenAI's dialects: roles, and the parts of their content."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mlx_engine.api_server.content_parts import (
    Content,
    Part,
    PartReader,
    check_role,
    from_base64,
    from_data_url,
    joined,
    refuse_stored,
)
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.requests import Message, Role

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant", "tool": "tool"}


def role_of(name: str) -> Role:
    """Return the engine's role for any role in a chat."""
    return _ROLES.get(name, "user")


def first_new(roles: Sequence[Role]) -> int:
    """Return the index of the first message that the model should answer now.

    A model that can't see refuses images from there on. In earlier messages, and after tool results, it reads “[image]”, so that
    the chat can continue.
    """
    last = max((at for at, role in enumerate(roles) if role in ("assistant", "tool")), default=-1)
    return len(roles) if last >= 0 and roles[last] == "tool" else last + 1


def nested_fields(path: str) -> dict[str, str]:
    """Return the supported fields of parts for `RequestFields.nested`.

    Args:
        path: path of the list of parts.
    """
    file = "filename file_data file_url file_id"
    return {
        path: f"type text refusal image_url detail file {file}",
        f"{path}.image_url": "url detail",
        f"{path}.file": file,
    }


def content_of(content: Any, where: str, role: Role, is_new: bool, reader: PartReader) -> Content:
    """Return the text and the images of a message's content.

    Args:
        content: a string, a list of parts, or None.
        where: name of the field.
        role: the message's role.
        is_new: whether to refuse parts that the model can't read. If not, they are replaced with their type, such as “[image]”.
        reader: reads images and documents.

    Raises:
        ApiError: a part is refused, or the content has another type.
    """
    if isinstance(content, str) or content is None:
        return content or "", ()
    if not isinstance(content, list):
        raise ApiError(400, f"“{where}” must be a string or a list of parts.", where, "invalid_value")
    text, images = joined(part for at, each in enumerate(content) for part in _parts(each, f"{where}.{at}", is_new, reader))
    check_role(images, role)
    return text, images


def _parts(part: Any, where: str, is_new: bool, reader: PartReader) -> Iterator[Part]:
    if isinstance(part, str):
        yield part
        return
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        raise ApiError(400, f"“{where}” has no type.", f"{where}.type", "invalid_value")
    text = part.get("refusal" if kind == "refusal" else "text")
    name = kind.removeprefix("input_").removesuffix("_url")[:40]
    if isinstance(text, str):
        yield text
    elif name == "image":
        yield from reader.read(name, where, is_new, lambda: [_image(part, where, reader)])
    elif name == "file":
        yield from reader.read(name, where, is_new, lambda: _file(part, where, reader))
    elif is_new:
        message = f"“{where}” has the type “{name}”, but the model can't read it. Remove it."
        raise ApiError(400, message, f"{where}.type", "unsupported_content")
    else:
        yield f"[{name}]"


def _image(part: dict[str, Any], where: str, reader: PartReader) -> Part:
    """Return an image, in the form of chats or of responses."""
    own, field = part, f"{where}.image_url"
    if isinstance(part.get("image_url"), dict):
        own, field = part["image_url"], f"{field}.url"
    url = own.get("url") if own is not part else part.get("image_url")
    if url is None and part.get("file_id") is not None:
        raise refuse_stored(f"{where}.file_id")
    return reader.image(from_data_url(url, field), field, own.get("detail"))


def _file(part: dict[str, Any], where: str, reader: PartReader) -> list[Part]:
    """Return a file, in the form of chats or of responses."""
    if isinstance(part.get("file"), dict):
        part, where = part["file"], f"{where}.file"
    value, field, name = part.get("file_data"), f"{where}.file_data", part.get("filename")
    if value is None and part.get("file_id") is not None:
        raise refuse_stored(f"{where}.file_id")
    if value is None and part.get("file_url") is not None:
        value, field = part["file_url"], f"{where}.file_url"
    is_address = field != f"{where}.file_data" or str(value)[:5].lower() == "data:"
    data = (from_data_url if is_address else from_base64)(value, field)
    return reader.document(data, field, name if isinstance(name, str) and name.strip() else "document")


def with_a_user(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages; if none is from the user, make the last one a user message.

    Chat templates need a user message.
    """
    if any(message.role == "user" for message in messages) or not messages or messages[-1].role != "system":
        return tuple(messages)
    return (*messages[:-1], replace(messages[-1], role="user"))
