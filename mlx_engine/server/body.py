"""Request bodies: reading them within limits, and checking their fields."""

import asyncio
import json
import logging
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.types import Receive, Scope

from mlx_engine.server.problems import ApiError, ClientGone
from mlx_engine.tools import exact_json

log = logging.getLogger(__name__)

MAX_BYTES = 16 << 20
MAX_DEPTH = 64  # nested lists and objects
MAX_VALUES = 50_000  # in all lists and objects
_MAX_TOKEN_IDS = 2_000_000
_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # matches at every quote, so that the search is linear
READ_S = 30.0  # seconds for a whole body
_SHOWN_NAMES = 20
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
_logged: set[str] = set()  # what was ignored


class Fields(BaseModel):
    """The supported fields of a request.

    Attributes:
        refused: fields that would change the reply but aren't supported, each with its accepted values. Null is always accepted.
        schema_field: the field for the answer's schema, if any.
    """

    model_config = ConfigDict(extra="allow", strict=True, hide_input_in_errors=True, allow_inf_nan=False)
    refused: ClassVar[dict[str, tuple[Any, ...]]] = {}
    schema_field: ClassVar[str] = ""

    @classmethod
    def parse(cls, body: Any) -> Self:
        """Check a request. Unknown fields are accepted, and logged by name.

        Raises:
            ApiError: the body isn't an object, or a field is invalid or not supported.
        """
        if not isinstance(body, dict):
            raise ApiError(400, "The body must be a JSON object.")
        for name, harmless in cls.refused.items():
            value = body.get(name)
            if value is not None and not any(type(value) is type(each) and value == each for each in harmless):
                raise ApiError(400, f"“{name}” isn't supported. Remove it.", name, "unsupported_parameter")
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
        log_ignored("the field", (fields.model_extra or {}).keys() - cls.refused.keys())
        return fields

    @classmethod
    def own_name(cls, name: str) -> str:
        """Return the field to use instead of another API's field, or "" if there is none."""
        if name in cls.model_fields:
            return ""
        groups = [group for group in _SAME if name in map(_head, group)]
        return next((other for group in groups for other in group if _head(other) in cls.model_fields), "")


def _head(name: str) -> str:
    return name.partition(".")[0]


def log_ignored(what: str, names: Iterable[str]) -> None:
    """Log each name once. Values are never logged.

    Args:
        what: what the names stand for, such as “the field”.
        names: names in requests.
    """
    for name in sorted(names):
        shown = f"{what} {name[:60]!a}"
        if shown not in _logged and len(_logged) < _SHOWN_NAMES:
            _logged.add(shown)
            log.warning("Ignoring %s in requests", shown)


async def read_json(scope: Scope, receive: Receive) -> Any:
    """Return the JSON value of a request's body.

    Raises:
        ApiError: the body is too large, too deep, too slow, or not JSON.
        ClientGone: the connection was closed.
    """
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > MAX_BYTES:
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
                if len(data) > MAX_BYTES:
                    raise _too_large()
                more = message.get("more_body", False)
    except TimeoutError:
        raise ApiError(408, "The request body took too long to arrive.", code="request_timeout") from None
    _check_structure(data)
    try:
        value = json.loads(data.decode("utf-8"), parse_float=exact_json.number, parse_constant=_refuse_constant)
        _check_size(value)
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair is no text
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise ApiError(400, "The body isn't valid JSON in UTF-8.", code="invalid_json") from None
    return value


def _check_structure(data: bytearray) -> None:
    """Refuse bodies that would take seconds to parse."""
    if data.count(b'"') - data.count(b'\\"') > 4 * MAX_VALUES:
        raise _too_many_values()
    structure = _TEXTS.sub(b"", data)
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
    raise ValueError(name)


def _too_large() -> ApiError:
    return ApiError(413, f"The body is larger than {MAX_BYTES >> 20} MiB. Shorten the request.", code="body_too_large")


def _too_many_values() -> ApiError:
    return ApiError(400, f"The JSON has more than {MAX_VALUES:,} values. Shorten the request.", code="json_too_large")


def _too_deep() -> ApiError:
    return ApiError(400, f"The JSON is nested deeper than {MAX_DEPTH} levels.", code="json_too_deep")
