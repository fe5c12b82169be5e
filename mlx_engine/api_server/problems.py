"""Errors of requests, with their HTTP status."""

from mlx_engine.contract.errors import UserError

# HTTP status and OpenAI code of the engine's errors; all others are 400
_STATUS = {
    "too_busy": (429, "rate_limit_exceeded"),
    "engine_busy": (503, "engine_busy"),
    "no_pair_loaded": (503, "model_not_loaded"),
    "reply_memory": (503, "not_enough_memory"),
    "internal": (500, "internal_error"),
    "remote_busy": (429, "rate_limit_exceeded"),
    "remote_busy_until": (429, "rate_limit_exceeded"),
    **{
        code: (502, code)  # faults of the remote server or on the way to it
        for code in (
            *("remote_bad_chunk", "remote_cut", "remote_failed", "remote_internal", "remote_key", "remote_line_too_long"),
            *("remote_lost", "remote_no_route", "remote_no_stream", "remote_not_api", "remote_nothing_listens"),
            *("remote_timed_out", "remote_unknown_host", "remote_unreachable"),
        )
    },
    "context_full": (400, "context_length_exceeded"),
    "context_exceeded": (400, "context_length_exceeded"),
}
_PARAMS = {"unknown_bias_token": "logit_bias"}  # fields that cause the engine's errors


class ClientGone(Exception):
    """The client closed the connection."""


class ApiError(Exception):
    """An error that a client can understand.

    Attributes:
        status: HTTP status.
        message: what happened, then what to do.
        param: the field that caused the error, such as “messages.0.role”.
        code: stable identifier.
        retry_after: seconds after which a retry may succeed.
    """

    def __init__(
        self, status: int, message: str, param: str | None = None, code: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self.retry_after = retry_after

    @classmethod
    def because(cls, error: UserError) -> "ApiError":
        status, code = _STATUS.get(error.text.code, (400, error.text.code))
        message = error.text.message
        if code == "context_length_exceeded":
            # Words by which agents recognize that they need to shorten the conversation
            part = ", counting only its beginning" if error.text.code == "context_exceeded" else ""
            message = (
                "The prompt is too long: {tokens} tokens > {limit} maximum{part}. "
                "This model's maximum context length is {limit} tokens."
            )
            message = message.format(**dict(error.text.values), part=part)
        seconds = dict(error.text.values).get("seconds") if status == 429 else None
        return cls(status, message, _PARAMS.get(code), code, retry_after=seconds if isinstance(seconds, int) else None)
