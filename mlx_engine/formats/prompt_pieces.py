"""The tokens of each part of a prompt."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.contract.token_counts import PromptParts
from mlx_engine.formats.chat_prompt import RenderedPrompt, text_tokens
from mlx_engine.formats.chat_text import chat_text
from mlx_engine.formats.known_prompts import shared_length
from mlx_engine.formats.sight import Sight

_KEPT = 4096  # sizes per tokenizer

_sizes: WeakKeyDictionary[TokenizerWrapper, OrderedDict[bytes, int]] = WeakKeyDictionary()


def parts_of(
    tokenizer: TokenizerWrapper,
    request: GenerationRequest,
    prompt: RenderedPrompt,
    cancel: threading.Event | None = None,
    sight: Sight | None = None,
) -> PromptParts:
    """Return what a prompt consists of.

    Texts that the template has changed, or tokens that span two parts, may count as part of the template.

    Args:
        tokenizer: the target's tokenizer.
        request: the request, with the messages that are sent.
        prompt: its prompt.
        cancel: stops the rendering.
        sight: how the model's prompts show images; None if it can't see.

    Raises:
        WorkCancelled: `cancel` was set.
    """
    if not request.messages:
        return PromptParts(template=len(prompt.tokens))
    options: dict[str, Any] = {"thinking": request.thinking, "effort": request.effort, "cancel": cancel, "sight": sight}

    def size(piece: str) -> int:
        return _size(tokenizer, piece, cancel)

    text = chat_text(tokenizer, request.messages, tools=request.tools, **options)
    found = Counter[str](images=sum(span.end - span.start for span in prompt.spans))
    if request.tools:
        try:
            bare = chat_text(tokenizer, request.messages, **options)
        except UserError:  # without tools, the template rejects the chat
            bare = text
        found["tools"] = _difference(text, bare, size)
    found.update(_found(text, request, size))
    for name, count in found.most_common():  # tokens that span parts are counted once
        found[name] -= max(0, min(count, found.total() - len(prompt.tokens)))
    return PromptParts(**found, template=len(prompt.tokens) - found.total())


def _found(text: str, request: GenerationRequest, size: Callable[[str], int]) -> Counter[str]:
    """Return the tokens of the messages' texts that are in the text of a prompt."""
    found, end, calls_begin = Counter[str](), 0, -1
    for message in request.messages:
        is_last = message is request.messages[-1] and message.role == "user"
        for name, piece in _pieces(message, is_last):
            if name == "thinking":  # dropped, unless it is before the answer
                answer = message.content.strip()
                at = text.find(piece, end, text.find(answer, end) if answer in text[end:] else len(text))
            else:
                at = text.find(piece, end)
            if at < 0:
                continue
            if calls_begin >= 0:
                found["chat"] += size(text[calls_begin:at])
                calls_begin = -1
            found["chat" if name == "thinking" else name] += size(piece)
            end = at + len(piece)
        if message.calls:
            calls_begin = end
    return found


def _pieces(message: Message, is_last: bool) -> Iterator[tuple[str, str]]:
    """Yield the stripped texts of a message, and the parts that they belong to."""
    if thinking := message.thinking.strip():
        yield "thinking", thinking
    own = {"system": "system", "tool": "results"}.get(message.role, "message" if is_last else "chat")
    cuts = {0, message.files_end, len(message.content), *(image.at for image in message.images)}
    for start, end in pairwise(sorted(cuts)):
        if piece := message.content[start:end].strip():
            yield ("files" if end <= message.files_end else own), piece


def _difference(text: str, bare: str, size: Callable[[str], int]) -> int:
    """Return how many tokens a text has more than another, where they differ."""
    start = shared_length(text, bare)
    end = shared_length(text[start:][::-1], bare[start:][::-1])
    return max(0, size(text[start : len(text) - end]) - size(bare[start : len(bare) - end]))


def _size(tokenizer: TokenizerWrapper, piece: str, cancel: threading.Event | None) -> int:
    """Return the number of tokens of a text, which is tokenized once."""
    sizes = _sizes.setdefault(tokenizer, OrderedDict())
    key = blake2b(piece.encode(errors="surrogatepass")).digest()
    if key not in sizes:
        sizes[key] = len(text_tokens(tokenizer, piece, cancel, None))
        if len(sizes) > _KEPT:
            sizes.popitem(last=False)
    return sizes[key]
