"""A drafter's folder -> a drafter of the kind that its config names."""

from collections.abc import Callable
from pathlib import Path

import mlx.core as mx

from mlx_engine.drafters.dflash import DFlashDrafter
from mlx_engine.drafters.dflash2 import DFlash2Drafter
from mlx_engine.drafters.tensors import read
from mlx_engine.pairs.checkpoint import read_config
from mlx_engine.pairs.drafter_config import DrafterConfig, parse

_LARGE = 1e9  # bytes from which on a drafter on a GPU is quantised unless asked otherwise


def make(
    config: DrafterConfig,
    weights: dict[str, mx.array],
    dtype: mx.Dtype,
    embed: Callable[[mx.array], mx.array],
    head: Callable[[mx.array], mx.array],
    bits: int = 16,
) -> DFlashDrafter:
    """The drafter of a config and its tensors; arguments and errors as for `DFlashDrafter`."""
    kind = DFlashDrafter if config.selector is None else DFlash2Drafter
    return kind(config, weights, dtype, embed, head, bits)


def load(
    folder: Path,
    dtype: mx.Dtype,
    embed: Callable[[mx.array], mx.array],
    head: Callable[[mx.array], mx.array],
    bits: int = 16,
) -> DFlashDrafter:
    """Read a drafter's folder.

    Raises:
        UserError: files missing, cut short or not a supported drafter.
    """
    return make(parse(read_config(folder)), read(folder), dtype, embed, head, bits)


def usual_bits(nbytes: int) -> int:
    """Bits of a drafter's weights when none are asked for; `nbytes` are its files'.

    A draft reads every weight once, so on a GPU fewer bits are faster, and what a drafter proposes hardly depends on them. A small
    drafter stays as published, and so does every one on a CPU, where products of quantised matrices are slow.
    """
    return 4 if mx.default_device().type == mx.gpu and nbytes > _LARGE else 16
