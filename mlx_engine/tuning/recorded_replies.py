"""The replies to learn from, with the target's features, on disk."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import mlx.core as mx
import numpy as np
from safetensors import SafetensorError, safe_open

from mlx_engine.contract.errors import EngineText, UserError, WorkCancelled
from mlx_engine.contract.events import Commit, Failed, Finished, Generate
from mlx_engine.contract.limits import MOST_REPLY_TOKENS
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.tensors import save_tensors
from mlx_engine.formats import chat_prompt
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.tuning.block_loss import DECAY, BlockBatch

UNUSABLE = EngineText.of("no_replies_to_tune", "The model's replies are empty or too long to learn from. Choose other prompts.")
_PADDING = 64  # tokens; lengths of batches are multiples, so that few shapes occur
_TOGETHER = 2  # replies in a batch


@dataclass(frozen=True)
class TargetReply:
    """A prompt, the target's reply to it, and the file with the target's features.

    Attributes:
        tokens: of prompt and reply, int32 [S].
        start: index of the reply's first token.
        features: of all tokens but the last, [S - 1, taps * H]; read from the file each time.
    """

    file: Path
    tokens: np.ndarray
    start: int

    @property
    def features(self) -> mx.array:
        return cast(dict[str, mx.array], mx.load(str(self.file)))["features"]


def record(
    pair: LoadedPair, generate: Generate, request: GenerationRequest, file: Path, cancel: threading.Event
) -> TargetReply | EngineText:
    """Generate and save a reply, or one in `continue_from`, with features.

    Returns:
        The reply, or why it can't be used.

    Raises:
        UserError: the disk is full.
    """
    tokens: list[int] = []
    try:
        rendered = chat_prompt.render(pair.tokenizer, request, cancel, pair.info.context_limit)
        if request.continue_from:
            tokens = [*rendered.continued, *_end(pair, request, cancel)]
    except UserError as error:  # such as a chat that the template rejects
        return error.text
    except WorkCancelled:
        return UNUSABLE
    prompt = rendered.tokens[: len(rendered.tokens) - len(rendered.continued)]
    most = min(MOST_REPLY_TOKENS, pair.info.context_limit) - len(prompt)
    if most < max(2, len(tokens)):
        return UNUSABLE
    request = replace(request, max_tokens=min(request.max_tokens, most))
    for event in () if tokens else generate(request, cancel):
        if isinstance(event, Commit):
            tokens += event.tokens
        if isinstance(event, Failed):
            return event
        if isinstance(event, Finished) and event.reason == "cancelled":
            return UNUSABLE
    if len(tokens) < 2:
        return UNUSABLE
    return save(pair, [*prompt, *tokens], len(prompt), file)


def _end(pair: LoadedPair, request: GenerationRequest, cancel: threading.Event) -> list[int]:
    """Return the end token that the chat template writes after a reply, if any."""
    messages = (*request.messages, Message("assistant", request.continue_from))
    tokens = chat_prompt.template(pair.tokenizer, messages, request.thinking, None, (), reply=False, cancel=cancel)
    return [token for token in reversed(tokens) if token in pair.tokenizer.eos_token_ids][:1]


def save(pair: LoadedPair, tokens: Sequence[int], start: int, file: Path) -> TargetReply:
    """Save a prompt and a reply with the target's features.

    Raises:
        UserError: the disk is full.
    """
    ids, caches, parts = mx.array(list(tokens), mx.int32), pair.target.caches(), list[mx.array]()
    while (at := caches.length) < len(tokens) - 1:
        end = min(pair.pace.end(at), len(tokens) - 1)
        with pair.pace.timed(end - at):
            _, features = pair.target.forward_tapped(ids[at:end], caches)
            mx.eval(features)  # not the caches: layers after the last tap are never computed
        parts.append(features)
    save_tensors(file, {"tokens": ids, "features": mx.concatenate(parts)}, {"start": str(start)})
    return TargetReply(file, np.array(tokens, np.int32), start)


def load(file: Path) -> TargetReply | None:
    """Return a saved reply, or None if the file is missing or damaged."""
    try:
        with safe_open(file, framework="np") as header:
            return TargetReply(file, header.get_tensor("tokens"), int(header.metadata()["start"]))
    except (OSError, SafetensorError, KeyError, ValueError, TypeError):
        return None


def batches(
    replies: Sequence[TargetReply], anchors: int, block: int, ends: frozenset[int], draw: np.random.Generator
) -> list[BlockBatch]:
    """Return the blocks of drawn anchors, in batches of similar lengths.

    See `batch` for the arguments.
    """
    ordered = sorted(replies, key=lambda reply: len(reply.tokens))
    return [batch(ordered[at : at + _TOGETHER], anchors, block, ends, draw) for at in range(0, len(ordered), _TOGETHER)]


def batch(replies: Sequence[TargetReply], anchors: int, block: int, ends: frozenset[int], draw: np.random.Generator) -> BlockBatch:
    """Draw anchors in replies, and return their blocks.

    Args:
        replies: N replies.
        anchors: number of anchors in each, if the longest reply has so many.
        block: the drafter's block size.
        ends: end tokens, after which nothing counts.
        draw: draws the anchors.
    """
    features = [reply.features for reply in replies]
    anchors = min(anchors, max(len(reply.tokens) - 1 - reply.start for reply in replies))
    length = -(-max(each.shape[0] for each in features) // _PADDING) * _PADDING
    positions = np.zeros((len(replies), anchors), np.int32)
    blocks = np.zeros((len(replies), anchors, block), np.uint32)
    weights = np.zeros((len(replies), anchors, block - 1), np.float32)
    decay = np.exp(-np.arange(block - 1) / DECAY)
    for i, reply in enumerate(replies):
        last = len(reply.tokens) - 1
        positions[i] = np.sort(draw.choice(np.arange(reply.start, last), anchors, replace=last - reply.start < anchors))
        for j, at in enumerate(positions[i]):
            tokens = reply.tokens[at : at + block]
            blocks[i, j, : len(tokens)] = tokens
            stops = np.flatnonzero(np.isin(tokens[1:], list(ends)))
            count = stops[0] + 1 if len(stops) else len(tokens) - 1
            weights[i, j, :count] = decay[:count]
    padded = mx.stack([mx.pad(each, [(0, length - each.shape[0]), (0, 0)]) for each in features])
    return BlockBatch(padded, mx.array(blocks), mx.array(positions), mx.array(weights))


def rounds(drafter: Drafter, reply: TargetReply, chooser: Chooser, vocabulary: int) -> tuple[int, int]:
    """Return a reply's tokens and rounds at the full width, after the first."""
    features, tokens = reply.features, mx.array(reply.tokens)
    context, at, last, count = drafter.context(), reply.start, len(reply.tokens) - 1, 0
    block = drafter.config.block_size
    while at < last:
        drafter.inject(context, features[context.position : at], tokens[context.position : at])
        noise = chooser.noise(at + 1, block, vocabulary)
        drafts = np.array(drafter.propose(context, tokens[at : at + 1].astype(mx.uint32), block, chooser, noise))
        following = reply.tokens[at + 1 : at + block]
        agreed = drafts[: len(following)] == following
        at += (len(agreed) if agreed.all() else int(agreed.argmin())) + 1
        count += 1
    return last - reply.start, count
