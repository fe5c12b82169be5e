"""Prediction of the memory and disk space that tuning a drafter needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.contract.limits import MOST_REPLY_TOKENS
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.contract.requests import Message
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse
from mlx_engine.hardware import machine
from mlx_engine.models.configs.target_config import layer_states
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.mtp_head import pair_bytes
from mlx_engine.models.fit import predict_fit

_REPLY_TOKENS = 512  # most tokens of a reply, by default
_CHARACTERS = 3  # per token of a prompt; more in English, fewer in other languages
_LOGITS, _REPLIES, _ANCHORS = 64_000_000, 8, 16  # most of a step of training
_TOGETHER = 2  # replies in a pass
_PROCESS = 300_000_000  # bytes of Python and its libraries


@dataclass(frozen=True)
class TuningNeeds:
    """The bytes that tuning needs at most, or None if unknown.

    Attributes:
        memory: of a second copy of the pair and of a pass of training.
        disk: of the replies to learn from.
    """

    memory: int | None
    disk: int | None


def predict_needs(
    target: Path, drafter: Path, prompts: Sequence[tuple[Message, ...]], general: int, facts: MachineFacts | None = None
) -> TuningNeeds:
    """Predict what tuning a drafter needs.

    Args:
        target, drafter: folders of the pair.
        prompts: the user's prompts.
        general: number of general prompts, which are short.
        facts: measurements of this machine, if known.

    Raises:
        UserError: a config.json file can't be read.
    """
    target_config, drafter_config = read_config(target), read_config(drafter)
    sizes, config = pair_bytes(target, drafter), parse(drafter_config)
    fit = predict_fit(target_config, drafter_config, *sizes, MOST_REPLY_TOKENS, facts, sees=False)
    known = all(line.bytes is not None for line in fit.lines)
    element = 4 if machine.without_gpu(facts) else 2
    features = len(config.tapped(len(layer_states(target_config) or ()))) * config.hidden_size
    lengths = [sum(len(message.content) for message in prompt) // _CHARACTERS for prompt in prompts] + [0] * general
    tokens = sum(min(length + _REPLY_TOKENS, MOST_REPLY_TOKENS) for length in lengths)
    # The weights of the drafter are held three times: to decode, to train, and to measure the result
    memory = fit.needed + 2 * sizes[1] + _step(config, features) + _PROCESS if known else None
    return TuningNeeds(memory, tokens * features * element)


def _step(config: DrafterConfig, features: int) -> int:
    """Return the bytes of a training pass in float32."""
    logits = config.block_size * (config.vocab_size or 1 << 18)
    blocks = _blocks(logits)
    keys = MOST_REPLY_TOKENS + blocks // _TOGETHER * config.block_size  # of the context and of all blocks over it
    scores = config.layers * config.heads * config.block_size * keys
    return 4 * (4 * blocks * logits + 2 * blocks * scores + _TOGETHER * MOST_REPLY_TOKENS * features)


def _blocks(logits: int) -> int:
    """Return the most blocks of a pass, each with this many logits."""
    blocks = max(2, _LOGITS // logits)
    return _TOGETHER * min(_ANCHORS, blocks // min(_REPLIES, max(2, blocks // 4)))
