"""Errors of requests, with their HTTP status."""

from mlx_engine.contract.errors import UserError

# What a remote server or Slipstream doesn't do, however often a client asks
_REMOTE_REFUSALS = ("no_continue", "no_count", "no_plain", "no_tools", "not_here", "private", "refused")
# HTTP status and OpenAI code of the engine's errors. Others of a remote server or the way to it are 502, and all others 400
_STATUS = {
    "too_busy": (429, "rate_limit_exceeded"),
    "engine_busy": (503, "engine_busy"),
    "no_pair_loaded": (503, "model_not_loaded"),
    "reply_memory": (503, "not_enough_memory"),
    "memory_full": (503, "not_enough_memory"),
    "memory_ended_reply": (503, "not_enough_memory"),
    "gpu_failed": (503, "gpu_failed"),
    "internal": (500, "internal_error"),
    "chat_template_process": (500, "chat_template_process"),
    "media_process": (500, "media_process"),
    "media_stopped": (503, "media_stopped"),
    "remote_internal": (500, "internal_error"),
    "remote_busy": (429, "rate_limit_exceeded"),
    "remote_busy_until": (429, "rate_limit_exceeded"),
    "context_full": (400, "context_length_exceeded"),
    "context_exceeded": (400, "context_length_exceeded"),
    "remote_context_exceeded": (400, "context_length_exceeded"),
    "sees_no_images": (400, "unsupported_content"),
    "image_in_other_message": (400, "unsupported_content"),
    "remote_no_model": (404, "model_not_found"),
    "remote_unknown_model": (404, "model_not_found"),
    **{f"remote_{name}": (400, f"remote_{name}") for name in _REMOTE_REFUSALS},
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
    def because(cls, error: UserError, where: str | None = None) -> "ApiError":
        """Return the error of a request that the engine refused.

        Args:
            error: the engine's error.
            where: the field that caused it, if its code doesn't tell.
        """
        name, message = error.text.code, error.text.message
        status, code = _STATUS.get(name, (502 if name.startswith("remote_") else 400, name))
        if name == "remote_context_exceeded":
            message = "The prompt is too long, above the model's maximum context length. " + message
        elif code == "context_length_exceeded":
            # Words by which agents recognize that they need to shorten the conversation
            part = ", counting only its beginning" if name == "context_exceeded" else ""
            tokens, limit = (int(str(dict(error.text.values)[name])) for name in ("tokens", "limit"))
            message = (
                f"The prompt is too long: {tokens} tokens > {limit - 1} maximum{part}. "
                f"This model's maximum context length is {limit} tokens."
            )
        seconds = dict(error.text.values).get("seconds") if status == 429 else None
        return cls(status, message, where or _PARAMS.get(code), code, retry_after=seconds if isinstance(seconds, int) else None)
