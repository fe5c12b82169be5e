"""Response parts that Anthropic's endpoints share."""

import secrets

from mlx_engine.api_server.body import Chunk
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.reply_figures import details, timings
from mlx_engine.contract.events import Stats

PING: Chunk = {"type": "ping"}

_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


def error_body(error: ApiError) -> Chunk:
    kind = _ERRORS.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
    details = {"details": {"error_code": error.code}} if error.code else {}
    return {
        "type": "error",
        "error": {"type": kind, "message": error.message, **details},
        "request_id": f"req_{secrets.token_hex(12)}",
    }


def message(model: str) -> Chunk:
    """Return the beginning of a message."""
    return {"id": f"msg_{secrets.token_hex(12)}", "type": "message", "role": "assistant", "model": model}


def message_start(message: Chunk, prompt_tokens: int = 0, cached_tokens: int = 0) -> Chunk:
    """Return the first event of a stream. The last one has the true usage."""
    empty: Chunk = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage(prompt_tokens, cached_tokens)}
    return {"type": "message_start", "message": message | empty}


def usage(prompt_tokens: int, cached_tokens: int, tokens: int = 0, thinking_tokens: int = 0) -> Chunk:
    """Return the usage of a reply, whose input tokens exclude cached ones."""
    return {
        "input_tokens": prompt_tokens - cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached_tokens,
        "output_tokens": tokens,
        "output_tokens_details": {"thinking_tokens": thinking_tokens},
    }


def figures(stats: Stats, thinking_tokens: int) -> Chunk:
    """Return a reply's usage, and the extensions that OpenAI's dialect also has."""
    counts = usage(stats.prompt_tokens, stats.reused_tokens, stats.tokens, thinking_tokens)
    return {"usage": counts, "timings": timings(stats), "slipstream": details(stats)}
