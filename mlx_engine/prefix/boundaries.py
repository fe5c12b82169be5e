"""The positions in a prompt from which later turns will continue.

Templates render history differently from the current turn: they drop thinking and the opening of the reply. The prompt is compared
with renderings of two different continuations of each kind. The tokens that the prompt shares with both are also shared
with the next turn.
"""

import threading
from collections.abc import Sequence
from itertools import takewhile

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.template_sandbox import RenderingCancelled

_ENDINGS = ("0", "a")  # contents that differ in their first character


def boundaries(
    tokenizer: TokenizerWrapper, request: GenerationRequest, prompt: Sequence[int], cancel: threading.Event | None = None
) -> tuple[int, ...]:
    """Return the counts of prompt tokens shared with other chats and the next turn.

    The counts are ascending and exclude at least the last token.

    Args:
        tokenizer: the target's tokenizer.
        request: the request for the reply.
        prompt: tokens of the request's prompt.
        cancel: stops the search.
    """
    last = len(prompt) - 1
    if not request.messages:
        return (last,) if last else ()
    head = tuple(takewhile(lambda message: message.role == "system", request.messages))
    other_chats = [[(*same, Message("user", text)) for text in _ENDINGS] for same in {head[:1], head}]
    next_turns = [(*request.messages, Message("assistant", text), Message("user", text)) for text in _ENDINGS]
    continuations = [*other_chats, next_turns]
    if request.tools:  # a tool result keeps what the user's next message drops, such as thinking
        continuations.append([(*request.messages, *_called(text)) for text in _ENDINGS])
    found = {min(_shared(tokenizer, request, prompt, chats, cancel), last) for chats in continuations}
    return tuple(sorted(found - {0}))


def _called(text: str) -> tuple[Message, Message]:
    """Return a tool call and its result."""
    call = ToolCall("000000000", "tool", "{}")
    return Message("assistant", text, calls=(call,)), Message("tool", text, call_id=call.id)


def _shared(
    tokenizer: TokenizerWrapper,
    request: GenerationRequest,
    prompt: Sequence[int],
    chats: Sequence[tuple[Message, ...]],
    cancel: threading.Event | None,
) -> int:
    """Return how many tokens the prompt shares with all chats, or 0 on an error."""
    try:
        rendered = [
            chat_prompt.template(tokenizer, messages, request.thinking, request.effort, request.tools, cancel=cancel)
            for messages in chats
        ]
    except (UserError, RenderingCancelled):
        return 0
    columns = zip(prompt, *rendered, strict=False)
    return next((at for at, column in enumerate(columns) if len(set(column)) > 1), min(map(len, (prompt, *rendered))))
