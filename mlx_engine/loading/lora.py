"""LoRA weights: small files that adapt a drafter to a target and prompts.

They add the product of two narrow matrices to each of the drafter's matrices. They change which tokens are proposed, never which
are accepted, so a reply's text is the same with and without them.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.parts.drafter_config import StoredFormat
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.tensors import LOW_RANK, plain_name, save_tensors
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.files.tuning_files import LoraRecord, damaged_lora, read_record


def save(file: Path, tensors: dict[str, mx.array], record: LoraRecord) -> None:
    """Replace LoRA weights.

    Raises:
        UserError: the folder isn't writable.
    """
    save_tensors(file, tensors, {name: str(value) for name, value in asdict(record).items()})


def merge(weights: dict[str, mx.array], file: Path, drafter: Path, target: Path, stored: StoredFormat | None = None) -> None:
    """Add LoRA weights to a drafter's tensors, if they can be used.

    Otherwise, the tensors stay as they are.

    Args:
        weights: the drafter's tensors by published name.
        file: the LoRA weights.
        drafter: folder of the drafter.
        target: folder of the target.
        stored: quantization of the drafter's tensors, which stay quantized.

    Raises:
        UserError: the LoRA weights are damaged, or were made for other weights.
    """
    record = read_record(file)
    if (record.drafter, record.target) != (weights_checksum(drafter), weights_checksum(target)):
        template = "The tuned drafter in {file} isn't used, because the drafter or the target has changed. Tune it again."
        raise UserError("adapter_outdated", template, file=file.name)
    try:
        tensors: Mapping[str, mx.array] = mx.load(str(file))  # type: ignore[assignment]
        changed = merged(weights, tensors, stored)
        if not mx.stack([mx.isfinite(array).all() for array in tensors.values()]).all().item():
            raise ValueError
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError):
        raise damaged_lora(file) from None
    weights.update(changed)


def merged(
    weights: Mapping[str, mx.array], tensors: Mapping[str, mx.array], stored: StoredFormat | None = None
) -> dict[str, mx.array]:
    """Return the tensors of a drafter that LoRA weights change.

    Raises:
        KeyError, ValueError, IndexError: the LoRA weights aren't for this drafter.
    """
    names = {plain_name(name): name for name in weights}
    changed: dict[str, mx.array] = {}
    for module in {name.removesuffix(suffix) for name in tensors for suffix in LOW_RANK if name.endswith(suffix)}:
        a, b = (tensors[module + suffix].astype(mx.float32) for suffix in LOW_RANK)
        parts = [names[f"{module}.{part}"] for part in ("weight", "scales", "biases") if f"{module}.{part}" in names]
        weight = weights[names[f"{module}.weight"]]
        whole = Matrix(weight)
        if len(parts) > 1 and stored is not None:
            bits, group = stored.exceptions.get(module, (stored.bits, stored.group))
            whole = Matrix(weight, weights[parts[1]], weights[parts[2]], bits, group)
        if (b.shape[0], a.shape[1]) != whole.shape or a.shape[0] != b.shape[1]:
            raise ValueError(module)
        floating = whole.floating().weight
        total = (floating.astype(mx.float32) + b @ a).astype(floating.dtype)
        arrays = [total] if whole.scales is None else [*mx.quantize(total, group_size=whole.group, bits=whole.bits)]
        changed |= dict(zip(parts, arrays, strict=True))
    return changed
