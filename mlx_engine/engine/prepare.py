"""Checks, prompt, grammar, and limits of a reply, before any device work."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract import limits
from mlx_engine.contract.errors import DFLASH_OFF, EngineText, UserError
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message, Mode
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.chat_prompt import RenderedPrompt
from mlx_engine.formats.prompt_pieces import parts_of
from mlx_engine.formats.sight import Sight
from mlx_engine.formats.token_grammar import Grammar, reply_grammar
from mlx_engine.loading.loaded_pair import LoadedPair


@dataclass(frozen=True)
class Prepared:
    """A request that can run.

    Attributes:
        request: with the messages that fit, and the tools that the model can call.
        prompt: the rendered prompt.
        grammar: restricts the reply; None for no restrictions.
        limit: most tokens of the reply.
        ends: tokens that end the reply.
        left_out: number of messages left out.
        cut: length to which results of tools were cut, or 0.
        cut_tokens: as in `Stats`.
    """

    request: GenerationRequest
    prompt: RenderedPrompt
    grammar: Grammar | None
    limit: int
    ends: frozenset[int]
    left_out: int
    cut: int
    cut_tokens: int = 0

    def restarted(self, tokenizer: TokenizerWrapper) -> "Prepared":
        """Return the same request, with the grammar in its first state."""
        return replace(self, grammar=_grammar(tokenizer, self.request, self.prompt))


def prepare(
    pair: LoadedPair, request: GenerationRequest, block: int | None, with_boundaries: bool, cancel: threading.Event | None = None
) -> Prepared:
    """Check a request, and render its prompt.

    Args:
        pair: the pair that will run the reply. Its arrays are not read.
        request: the request for the reply.
        block: the drafter's block size; None without a drafter.
        with_boundaries: whether to find the prompt's boundaries.
        cancel: stops the rendering.

    Raises:
        UserError: the request can't be run.
        WorkCancelled: `cancel` was set.
    """
    tokenizer = pair.tokenizer
    limits.check_choices(request, block)
    limits.check_tokens(request.prompt_tokens or (), pair.target.rows)
    limits.check_biases(request.logit_bias, pair.target.vocabulary)
    sent = _sent(pair, request, with_boundaries, cancel)
    request, prompt = sent.request, sent.prompt
    grammar = _grammar(tokenizer, request, prompt)
    limits.check_tokens(prompt.tokens, pair.target.rows)
    return Prepared(
        request=request,
        prompt=prompt,
        grammar=grammar,
        limit=_token_limit(request, len(prompt.tokens), pair.info.context_limit),
        ends=frozenset() if request.ignore_eos and grammar is None else frozenset(tokenizer.eos_token_ids),
        left_out=sent.left_out,
        cut=sent.cut,
        cut_tokens=sent.whole - len(prompt.tokens) if sent.whole and (sent.left_out or sent.cut) else 0,
    )


def count_tokens(pair: LoadedPair, request: CountTokens, cancel: threading.Event | None = None) -> TokenCount:
    """Return the number of tokens of a request's prompt, as `prepare` renders it.

    Raises:
        UserError: the chat is rejected, or so long that counting would take long.
        WorkCancelled: `cancel` was set.
    """
    limit = pair.info.context_limit
    try:
        sent = _sent(pair, request.request, False, cancel)
    except chat_prompt.ContextExceeded as error:
        if not request.estimate:
            raise
        return TokenCount(error.estimate, limit, exact=False)
    parts = parts_of(pair.tokenizer, sent.request, sent.prompt, cancel, sent.sight) if request.parts else None
    return TokenCount(len(sent.prompt.tokens), limit, left_out=sent.left_out, parts=parts)


@dataclass(frozen=True)
class _Sent:
    """The prompt of a request. See `Prepared`. `whole` is as in `chat_prompt.fitting`."""

    request: GenerationRequest
    prompt: RenderedPrompt
    left_out: int
    cut: int
    whole: int
    sight: Sight | None


def _sent(pair: LoadedPair, request: GenerationRequest, with_boundaries: bool, cancel: threading.Event | None) -> _Sent:
    """Return the prompt that the model gets, with the messages that fit."""
    tokenizer, limit = pair.tokenizer, pair.info.context_limit
    sight = sight_of(pair, request.messages, cancel, request.exact)
    request = replace(request, tools=chat_prompt.usable_tools(tokenizer, request))
    messages, cut, whole = chat_prompt.fitting(tokenizer, request, limit, cancel, sight)
    left_out, request = len(request.messages) - len(messages), replace(request, messages=messages)
    prompt = chat_prompt.render(tokenizer, request, cancel, limit, with_boundaries, sight)
    return _Sent(request, prompt, left_out, cut, whole, sight)


def sight_of(
    pair: LoadedPair, messages: Sequence[Message], cancel: threading.Event | None = None, exact: bool = False
) -> Sight | None:
    """Return how a chat's prompt shows its images, or None without images.

    Raises:
        UserError: the pair can't see images.
    """
    image = next((image for message in messages for image in message.images), None)
    if image is None:
        return None
    limits.check_images(messages, pair.images is not None, pair.info.why_cannot_see)
    if exact:
        template = "Exact mode can't be used with images. Turn it off, or remove “{name}”."
        raise UserError("exact_with_images", template, name=image.name or "image")
    return pair.images.sight(cancel) if pair.images else None


def _grammar(tokenizer: TokenizerWrapper, request: GenerationRequest, prompt: RenderedPrompt) -> Grammar | None:
    return reply_grammar(tokenizer, request, prompt.opening, len(prompt.continued))


def mode_of(pair: LoadedPair, request: GenerationRequest) -> tuple[Mode, EngineText | None]:
    """Return how a reply is decoded, and why it is decoded plainly."""
    if pair.drafter is None:
        return "plain", pair.info.why_plain
    return ("plain", DFLASH_OFF) if request.mode == "plain" else ("dflash", None)


def _token_limit(request: GenerationRequest, length: int, context_limit: int) -> int:
    """Return the token limit for the reply to a prompt of `length` tokens."""
    if length >= context_limit:
        template = "The chat has {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one."
        raise UserError("context_full", template, tokens=length, limit=context_limit)
    return min(request.max_tokens, context_limit - length)
