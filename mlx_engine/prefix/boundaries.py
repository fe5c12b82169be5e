"""Where in a prompt a later turn will come by again: found by rendering the chat with other ends, never by guessing.

Templates render history otherwise than what is being written: thinking is dropped, an opening for the reply comes and goes. What a
prompt has in common with the renderings of two different continuations is what the next turn will have in common with it too.
"""

from collections.abc import Sequence

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine import chat
from mlx_engine.errors import UserError
from mlx_engine.requests import GenerationRequest, Message

_WORDS = ("0", "a")  # contents that part at their first letter


def boundaries(tokenizer: TokenizerWrapper, request: GenerationRequest, prompt: Sequence[int]) -> tuple[int, ...]:
    """Token counts, rising, none above all but the last token: the end of what another chat shares, and of what the next turn does.

    Args:
        tokenizer: of the target.
        request: whose messages gave the prompt, or its raw tokens.
        prompt: the token ids.
    """
    last = len(prompt) - 1
    if request.prompt_tokens is not None:
        return (last,) if last else ()
    head = tuple(message for message in request.messages[:1] if message.role == "system")
    found = (
        _in_common(tokenizer, request, prompt, [(*head, Message("user", word)) for word in _WORDS]),
        _in_common(
            tokenizer, request, prompt, [(*request.messages, Message("assistant", word), Message("user", word)) for word in _WORDS]
        ),
    )
    return tuple(sorted({min(at, last) for at in found} - {0}))


def _in_common(
    tokenizer: TokenizerWrapper, request: GenerationRequest, prompt: Sequence[int], chats: Sequence[tuple[Message, ...]]
) -> int:
    """How many tokens the prompt shares with every one of these chats; 0 when the template refuses them."""
    try:
        rendered = [chat.template(tokenizer, messages, request.thinking, request.effort) for messages in chats]
    except UserError:
        return 0
    alike = zip(prompt, *rendered, strict=False)
    return next((at for at, column in enumerate(alike) if len(set(column)) > 1), min(map(len, (prompt, *rendered))))
