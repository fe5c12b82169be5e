"""Drafters in folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.ends import TargetEnd
from mlx_engine.drafters.registry import make, parse
from mlx_engine.models.files.checkpoint import damaged_weights, read_config, weight_files

_LARGE = 1e9  # bytes above which drafters are quantized by default


def load(
    folder: Path,
    dtype: mx.Dtype,
    embed: TargetEnd,
    head: TargetEnd,
    bits: int = 16,
    layers: Sequence[Any] = (),
    tensors: dict[str, mx.array] | None = None,
) -> Drafter:
    """Load a drafter from a folder, with the arguments of `registry.make`.

    Args:
        tensors: the drafter's tensors, if they differ from those in the folder.

    Raises:
        UserError: files are missing or damaged, or the drafter isn't supported.
    """
    return make(parse(read_config(folder)), tensors or read(folder), dtype, embed, head, bits, layers)


def read(folder: Path) -> dict[str, mx.array]:
    """Return all tensors in a drafter's folder, unevaluated.

    Raises:
        UserError: files are missing or damaged, or loading a file would run Python code.
    """
    if (folder / "mask_embedding.pt").exists():
        raise UserError(
            "drafter_mask_needs_code",
            "The drafter in {folder} stores its mask embedding in mask_embedding.pt, a format that can run code when it is "
            "loaded. Choose another drafter, or use plain decoding.",
            folder=folder.name,
        )
    weights: dict[str, mx.array] = {}
    for file in weight_files(folder):
        try:
            weights.update(cast(dict[str, mx.array], mx.load(str(file))))
        except (RuntimeError, ValueError) as error:  # the file has changed since it was checked
            raise damaged_weights(str(file)) from error
    return weights


def usual_bits(nbytes: int) -> int:
    """Return the default bits per weight for a drafter of `nbytes` bytes.

    A draft reads every weight once, so fewer bits are faster on a GPU and hardly change the proposals. Small drafters keep their
    published format. On a CPU, all drafters do, because quantized products are slow there.
    """
    return 4 if mx.default_device().type == mx.gpu and nbytes > _LARGE else 16
