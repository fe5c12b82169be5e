"""A new drafter for a target, with random weights, to be trained from scratch."""

import json
import math
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint import read_config
from mlx_engine.pairs.data_files import cannot_write
from mlx_engine.pairs.drafter_config import parse
from mlx_engine.pairs.target_config import text_config
from mlx_engine.training.blocks import matrices, vectors

_GAIN, _SMALL_GAIN = 0.7, 0.2  # of random matrices; the small one for those that add to the residual


def create(folder: Path, target: Path, layers: int, taps: int, block: int, mask_token: int, seed: int) -> None:
    """Write a DFlash drafter with random weights into a new folder.

    Args:
        folder: the new folder.
        target: folder of the target, whose sizes the drafter takes.
        layers: number of layers.
        taps: number of the target's layers whose outputs are the features.
        block: block size.
        mask_token: token that no text contains.
        seed: seed of the weights.

    Raises:
        UserError: the folder exists or can't be written, or the target's config.json lacks a size.
    """
    config = _config(text_config(read_config(target)), layers, taps, block, mask_token)
    parsed = parse(config)
    keys = iter(mx.random.split(mx.random.key(seed), len(matrices(parsed))))
    weights = {name: mx.ones(size, mx.bfloat16) for name, size in vectors(parsed).items()}
    for name, (rows, columns) in matrices(parsed).items():
        gain = _SMALL_GAIN if name.endswith(("o_proj", "down_proj")) else _GAIN
        weights[f"{name}.weight"] = (mx.random.normal((rows, columns), key=next(keys)) * gain / math.sqrt(columns)).astype(
            mx.bfloat16
        )
    try:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    except FileExistsError:
        raise UserError("drafter_exists", "“{folder}” exists. Choose another folder, or delete it.", folder=str(folder)) from None
    except (OSError, RuntimeError) as error:
        raise cannot_write(folder, error if isinstance(error, OSError) else OSError(str(error))) from None


def _config(target: dict[str, Any], layers: int, taps: int, block: int, mask_token: int) -> dict[str, Any]:
    """Return config.json in the published layout, with the target's sizes."""
    copied = ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "vocab_size")
    missing = [name for name in copied if type(target.get(name)) is not int]
    if missing:
        template = "The target's config.json has no “{field}”, so a drafter can't be made for it. Choose another target."
        raise UserError("target_size_missing", template, field=missing[0])
    depth, heads = target["num_hidden_layers"], target["num_attention_heads"]
    rope = target.get("rope_parameters") or {}
    return {
        "architectures": ["DFlashDraftModel"],
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
        "dflash_config": {"target_layer_ids": _spread(depth, taps), "mask_token_id": mask_token},
        "torch_dtype": "bfloat16",
    }


def _spread(depth: int, taps: int) -> list[int]:
    """Return evenly spread layers, from the second to the third from last if there are enough, as in published drafters."""
    taps = min(taps, depth)
    last = min(max(depth - 3, taps), depth - 1)
    first = min(1, last - taps + 1)
    return [round(first + i * (last - first) / max(taps - 1, 1)) for i in range(taps)]
