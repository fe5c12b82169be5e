"""Load a drafter from its folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.dflash import DFlashDrafter
from mlx_engine.drafters.dflash2 import DFlash2Drafter
from mlx_engine.drafters.dspark import DSparkDrafter
from mlx_engine.drafters.eagle3 import Eagle3Drafter
from mlx_engine.drafters.gemma4_assistant import Gemma4AssistantDrafter, source_layers
from mlx_engine.drafters.mtp import MtpDrafter
from mlx_engine.drafters.tensors import read
from mlx_engine.models.configs.drafter_config import DrafterConfig, parse
from mlx_engine.models.files.checkpoint import read_config

_LARGE = 1e9  # bytes above which drafters are quantized by default


def make(
    config: DrafterConfig,
    weights: dict[str, mx.array],
    dtype: mx.Dtype,
    embed: Callable[[mx.array], mx.array],
    head: Callable[[mx.array], mx.array],
    bits: int = 16,
    layers: Sequence[Any] = (),
) -> DFlashDrafter:
    """Create a drafter, with the arguments and errors of `DFlashDrafter`, and the target's layers for an assistant.

    For a float16 target, DFlash 2 drafters compute in bfloat16, because their activations exceed the range of float16.
    """
    if config.assistant:
        return Gemma4AssistantDrafter(config, weights, dtype, embed, head, bits, layers)
    if config.selector is None:
        kinds = {MtpDrafter: config.mtp, DSparkDrafter: config.dspark, Eagle3Drafter: config.eagle3}
        kind = next((kind for kind, own in kinds.items() if own), DFlashDrafter)
        return kind(config, weights, dtype, embed, head, bits)
    if dtype != mx.float16:
        return DFlash2Drafter(config, weights, dtype, embed, head, bits)
    wide = mx.bfloat16
    ends = (lambda tokens: embed(tokens).astype(wide)), (lambda hidden: head(hidden.astype(dtype)))
    return DFlash2Drafter(config, weights, wide, *ends, bits)


def load(
    folder: Path,
    dtype: mx.Dtype,
    embed: Callable[[mx.array], mx.array],
    head: Callable[[mx.array], mx.array],
    bits: int = 16,
    layers: Sequence[Any] = (),
    tensors: dict[str, mx.array] | None = None,
) -> DFlashDrafter:
    """Load a drafter from a folder, with the arguments of `make`.

    Args:
        tensors: the drafter's tensors, if they differ from those in the folder.

    Raises:
        UserError: files are missing or damaged, or the drafter isn't supported.
    """
    return make(parse(read_config(folder)), tensors or read(folder), dtype, embed, head, bits, layers)


def tapped(config: DrafterConfig, layers: Sequence[Any]) -> tuple[int, ...]:
    """Return the taps in a target with these layers."""
    if config.assistant is None:
        return config.tapped(len(layers))
    return *(index - 1 for index in source_layers(layers)), len(layers)  # the inputs of both layers, and the final norm


def usual_bits(nbytes: int) -> int:
    """Return the default bits per weight for a drafter of `nbytes` bytes.

    A draft reads every weight once, so fewer bits are faster on a GPU and hardly change the proposals. Small drafters keep their
    published format. On a CPU, all drafters do, because quantized products are slow there.
    """
    return 4 if mx.default_device().type == mx.gpu and nbytes > _LARGE else 16
