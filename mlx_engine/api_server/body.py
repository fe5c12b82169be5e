"""Request bodies: reading them within limits, and checking their fields."""

import asyncio
import json
import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.types import Receive, Scope

from mlx_engine.api_server.problems import ApiError, ClientGone
from mlx_engine.contract import exact_json
from mlx_engine.contract.limits import MAX_REQUEST_BYTES

log = logging.getLogger(__name__)

Chunk = dict[str, Any]

MAX_DEPTH = 64  # nested lists and objects
MAX_VALUES = 50_000  # in all lists and objects
_MAX_TOKEN_IDS = 2_000_000
_LOGGED = 100_000  # characters of a request, if content is logged
_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # matches at every quote, so that the search is linear
_DULL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZacdeghijklmopqsvwxyz0123456789+="  # base64 without what JSON escapes, for speed
READ_S = 30.0  # seconds for a whole body
_NAME, _NAMES = 60, 1000  # characters of a name, and of all names in a line of the log
_MOST_LOGGED = 10_000  # names; beyond that, names are logged again
# What is the same in different APIs, in order of preference
_SAME = (
    ("max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens"),
    ("messages", "input", "prompt"),
    ("instructions", "system", "messages", "prompt"),
    ("stop", "stop_sequences"),
    ("response_format", "text.format", "output_config.format", "output_format"),
    ("reasoning_effort", "reasoning.effort", "output_config.effort", "thinking", "enable_thinking"),
    ("parallel_tool_calls", "tool_choice.disable_parallel_tool_use"),
    ("logprobs", "top_logprobs"),
)
_logged: set[tuple[str, str]] = set()  # what was ignored


class RequestFields(BaseModel):
    """The supported fields of a request.

    Attributes:
        refused: fields that would change the reply but aren't supported, each with its accepted values. Null is always accepted.
        explained: message and code of the error for some of these fields.
        nested: names of the supported fields inside a field or a list, separated by spaces, by path. Values without an entry can
            have any content.
        schema_field: the field for the answer's schema, if any.
    """

    model_config = ConfigDict(extra="allow", strict=True, hide_input_in_errors=True, allow_inf_nan=False)
    refused: ClassVar[dict[str, tuple[Any, ...]]] = {}
    explained: ClassVar[dict[str, tuple[str, str]]] = {}
    nested: ClassVar[dict[str, str]] = {}
    schema_field: ClassVar[str] = ""

    @classmethod
    def parse(cls, body: Any) -> Self:
        """Check a request. Unknown fields at any level are accepted, and logged by name.

        Raises:
            ApiError: the body isn't an object, or a field is invalid or not supported.
        """
        if not isinstance(body, dict):
            raise ApiError(400, "The body must be a JSON object.")
        for name, harmless in cls.refused.items():
            value = _at(body, name)
            if value is not None and not any(type(value) is type(each) and value == each for each in harmless):
                message, code = cls.explained.get(name, (f"“{name}” isn't supported. Remove it.", "unsupported_parameter"))
                raise ApiError(400, message, name, code)
        for name in body:
            if body[name] and (other := cls.own_name(name)):
                raise ApiError(400, f"“{name}” isn't supported here. Use “{other}”.", name, "unsupported_parameter")
        try:
            fields = cls.model_validate(body)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, problem["loc"]))
            why = problem["msg"].removeprefix("Value error, ")
            raise ApiError(400, f"“{where}” is invalid: {why}.", where, "invalid_value") from None
        extra = {name for name, value in (fields.model_extra or {}).items() if value is not None and name not in cls.refused}
        log_ignored("fields", extra.union(*(cls._ignored(body.get(path), path) for path in cls.nested if "." not in path)))
        return fields

    @classmethod
    def _ignored(cls, value: Any, path: str) -> Iterator[str]:
        """Yield the paths of unknown fields inside a field, without positions in lists."""
        known = cls.nested[path].split()
        for item in value if isinstance(value, list) else [value]:
            for name, inner in item.items() if isinstance(item, dict) else ():
                inner_path = f"{path}.{name}"
                if inner is not None and name not in known:
                    yield inner_path
                elif inner_path in cls.nested:
                    yield from cls._ignored(inner, inner_path)

    @property
    def schema_param(self) -> str | None:
        """The field that an error in a schema is about, or None if there are several."""
        given = [path for path in (self.schema_field, "tools") if _at(self.model_dump(include={_head(path)}), path)]
        return given[0] if len(given) == 1 else None

    @classmethod
    def own_name(cls, name: str) -> str:
        """Return the field to use instead of another API's field, or "" if there is none."""
        if name in cls.model_fields:
            return ""
        groups = [group for group in _SAME if name in map(_head, group)]
        return next((other for group in groups for other in group if _head(other) in cls.model_fields), "")


def _head(name: str) -> str:
    return name.partition(".")[0]


def _at(body: dict[str, Any], path: str) -> Any:
    """Return a value such as that of “text.verbosity”, or None."""
    found: Any = body
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def log_ignored(what: str, names: Iterable[str]) -> None:
    """Log names that weren't logged before, in one line. Values are never logged.

    Names that don't fit in the line are counted. They are logged with a later request.

    Args:
        what: what the names stand for, such as “fields”.
        names: names in a request.
    """
    new = sorted({name[:_NAME] for name in names if (what, name[:_NAME]) not in _logged})
    ends = list(accumulate(len(ascii(name)) for name in new))
    shown = new[: max(1, bisect_right(ends, _NAMES))]
    if len(_logged) > _MOST_LOGGED:
        _logged.clear()
    _logged.update((what, name) for name in shown)
    if shown:
        more = f" and {len(new) - len(shown):,} more" if len(new) > len(shown) else ""
        log.warning("Ignoring %s %s%s in requests", what, ", ".join(map(ascii, shown)), more)


async def read_json(scope: Scope, receive: Receive, logs: bool = False) -> Any:
    """Return the JSON value of a request's body.

    Args:
        logs: whether to log the value.

    Raises:
        ApiError: the body is too large, too deep, too slow, or not JSON.
        ClientGone: the connection was closed.
    """
    headers = dict(scope["headers"])
    length, encoding = headers.get(b"content-length", b"0"), headers.get(b"content-encoding", b"identity").lower()
    if length.isdigit() and int(length) > MAX_REQUEST_BYTES:
        raise _too_large()
    data = bytearray()
    try:
        async with asyncio.timeout(READ_S):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                data += message.get("body", b"")
                if len(data) > MAX_REQUEST_BYTES:
                    raise _too_large()
                more = message.get("more_body", False)
    except TimeoutError:
        raise ApiError(408, "The request body took too long to arrive.", code="request_timeout") from None
    if encoding != b"identity":  # known before the body is read, but a client that still sends may lose the response
        raise ApiError(
            415, f"Bodies in “{encoding[:40].decode('latin-1')}” aren't supported. Send plain JSON.", code="body_encoded"
        )
    _check_structure(data)
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_float=exact_json.number, parse_constant=_refuse_constant)
        _check_size(value)
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError:
        raise _invalid("It isn't text in UTF-8") from None
    except UnicodeEncodeError as error:
        raise _invalid(f"“\\u{ord(error.object[error.start]):x}” is half of a surrogate pair, without the other half") from None
    except json.JSONDecodeError as error:
        raise _invalid(f"Correct line {error.lineno}, column {error.colno}") from None
    except ValueError:
        raise _invalid("A number has too many digits") from None
    if logs:
        log.info("%s %s", scope["path"], json.dumps(value, ensure_ascii=False)[:_LOGGED])
    return value


def _check_structure(data: bytearray) -> None:
    """Refuse bodies that would take seconds to parse."""
    if data.count(b'"') - data.count(b'\\"') > 4 * MAX_VALUES:
        raise _too_many_values()
    structure = _TEXTS.sub(b"", data.translate(None, _DULL))
    containers, members = structure.count(b"[") + structure.count(b"{"), structure.count(b":")
    if max(containers, members) > MAX_VALUES or structure.count(b",") > _MAX_TOKEN_IDS:
        raise _too_many_values()


def _check_size(value: Any) -> None:
    """Refuse values that would block the server for seconds while it checks them.

    A prompt may have any number of token IDs.
    """
    level = [{name: item for name, item in value.items() if name != "prompt"} if isinstance(value, dict) else value]
    count = 0
    for _ in range(MAX_DEPTH):
        level = [each for each in level if isinstance(each, list | dict)]
        count += sum(map(len, level))
        if count > MAX_VALUES:
            raise _too_many_values()
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return
    raise _too_deep()


def _refuse_constant(name: str) -> None:
    raise _invalid(f"“{name}” isn't a number in JSON")


def _invalid(reason: str) -> ApiError:
    return ApiError(400, f"The body isn't valid JSON. {reason}.", code="invalid_json")


def _too_large() -> ApiError:
    message = (
        f"The body is larger than {MAX_REQUEST_BYTES >> 20} MiB. Shorten the request, or send fewer or smaller images and PDFs."
    )
    return ApiError(413, message, code="body_too_large")


def _too_many_values() -> ApiError:
    return ApiError(400, f"The JSON has more than {MAX_VALUES:,} values. Shorten the request.", code="json_too_large")


def _too_deep() -> ApiError:
    return ApiError(400, f"The JSON is nested deeper than {MAX_DEPTH} levels.", code="json_too_deep")
