"""A new drafter for a target, with random weights, to be trained from scratch."""

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_write
from mlx_engine.drafters.dflash.config import read
from mlx_engine.drafters.parts.block_tensors import matrices, vectors
from mlx_engine.drafters.parts.tensors import save_tensors
from mlx_engine.models.configs.target_config import dflash_problem, text_config
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.loadable import check_loadable

_GAIN, _SMALL_GAIN = 0.7, 0.2  # of random matrices; the small one for those that add to the residual


def create(
    folder: Path, target: Path, layers: int, taps: int, block: int, mask_token: int | None, seed: int, mlp: int | None = None
) -> None:
    """Write a DFlash drafter with random weights into a new folder.

    Args:
        folder: the new folder.
        target: folder of the target, whose sizes the drafter takes.
        layers: number of layers.
        taps: number of the target's layers whose outputs are the features.
        block: block size.
        mask_token: token that no text contains; None for the last one of the vocabulary, which is usually unused.
        seed: seed of the weights.
        mlp: width of the MLPs; None for the target's.

    Raises:
        UserError: the folder has other content or can't be written, or DFlash can't run with the target.
    """
    check_loadable(target, None)
    if problem := dflash_problem(read_config(target)):
        raise UserError.of(problem)
    config = _config(text_config(read_config(target)), layers, taps, block, mask_token)
    config["intermediate_size"] = mlp or config["intermediate_size"]
    if folder.exists():
        if _read(folder) != config:
            template = "“{folder}” already contains something else. Choose another folder, or use the same options as before."
            raise UserError("drafter_exists", template, folder=str(folder))
        return
    parsed = read(config)
    keys = iter(mx.random.split(mx.random.key(seed), len(matrices(parsed))))
    weights = {name: mx.ones(size, mx.bfloat16) for name, size in vectors(parsed).items()}
    for name, (rows, columns) in matrices(parsed).items():
        gain = _SMALL_GAIN if name.endswith(("o_proj", "down_proj")) else _GAIN
        weights[f"{name}.weight"] = (mx.random.normal((rows, columns), key=next(keys)) * gain / math.sqrt(columns)).astype(
            mx.bfloat16
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as parts:
            whole = Path(parts) / folder.name
            whole.mkdir()
            (whole / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
            save_tensors(whole / "model.safetensors", weights, {"format": "mlx"})
            os.rename(whole, folder)
    except OSError as error:
        raise cannot_write(folder, error) from None


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        return read_config(folder)
    except UserError:
        return None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _config(target: dict[str, Any], layers: int, taps: int, block: int, mask_token: int | None) -> dict[str, Any]:
    """Return config.json in the published layout, with the target's sizes."""
    copied = ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "vocab_size")
    missing = [name for name in copied if type(target.get(name)) is not int or target[name] < 1]
    if missing:
        template = "The target's config.json has no valid “{field}”, so a drafter can't be made for it. Choose another target."
        raise UserError("target_size_missing", template, field=missing[0])
    depth, heads = target["num_hidden_layers"], target["num_attention_heads"]
    rope = _object(target.get("rope_parameters"))
    rope = _object(rope.get("full_attention")) or rope  # some models have one per kind of layer
    return {
        "architectures": ["DFlashDraftModel"],
        "made_by": "slipstream tune",
        "model_type": "qwen3",
        **{name: target[name] for name in copied},
        "num_hidden_layers": layers,
        "num_target_layers": depth,
        "num_key_value_heads": target.get("num_key_value_heads") or heads,
        "head_dim": target.get("head_dim") or target["hidden_size"] // heads,
        "rms_norm_eps": target.get("rms_norm_eps", 1e-6),
        "rope_theta": target.get("rope_theta") or rope.get("rope_theta") or 10000.0,
        "max_position_embeddings": target.get("max_position_embeddings", 4096),
        "block_size": block,
        "rope_scaling": None,
        "attention_bias": False,
        "hidden_act": "silu",
        "layer_types": ["full_attention"] * layers,
        "dflash_config": {
            "target_layer_ids": _spread(depth, taps),
            "mask_token_id": target["vocab_size"] - 1 if mask_token is None else mask_token,
        },
        "torch_dtype": "bfloat16",
    }


def _spread(depth: int, taps: int) -> list[int]:
    """Return evenly spread layers, as in published drafters."""
    taps = min(taps, depth)
    last = min(max(depth - 3, taps), depth - 1)
    first = min(1, last - taps + 1)
    return [round(first + i * (last - first) / max(taps - 1, 1)) for i in range(taps)]
