"""Response parts that Anthropic's endpoints share."""

import secrets

from mlx_engine.server.problems import ApiError
from mlx_engine.server.replies import Chunk

PREFIX = "/v1/messages"  # of all paths in this dialect

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
    return {
        "type": "error",
        "error": {"type": kind, "message": error.message},
        "request_id": f"req_{secrets.token_hex(12)}",
    }
