"""Make the cases of causal drafters and of those whose anchor's row proposes, with z-lab's MLX reference.

Usage: python -m tests.golden.make_drafters DIR    with the package dflash 0.1.0 on the path

The reference reads rows 1 and up; here it also reads row 0 of blocks in which the anchor's row proposes. No round commits one row
to a full window, where the reference loses context (see README.md).
"""

import json
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
from dflash.model_mlx import DFlash2DraftModel, DFlashConfig, DFlashDraftModel
from mlx import nn
from mlx.utils import tree_flatten

TAPS, HIDDEN, TARGET_LAYERS = [1, 4, 7], 64, 10
_QWEN: dict[str, Any] = {
    "attention_bias": False, "dtype": "float32", "head_dim": 32, "hidden_act": "silu", "hidden_size": HIDDEN,
    "intermediate_size": 48, "model_type": "qwen3", "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_theta": 10000000, "rope_type": "default"}, "tie_word_embeddings": False,
}  # fmt: skip
_SELECTOR = {"conv_kernel_size": 2, "conv_group_size": 16, "selector_rank": 12, "selector_top_k": 16}


def _speculators(kind: str, block: int, mask: int, inner: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "architectures": ["DFlash2DraftModel" if kind == "dflash2" else "DFlashSpeculator"],
        "speculators_model_type": kind,
        "speculators_version": "0.9.0",
        "aux_hidden_state_layer_ids": [layer + 1 for layer in TAPS],
        "block_size": block,
        "draft_vocab_size": inner["vocab_size"],
        "mask_token_id": mask,
        "sample_from_anchor": True,
        "transformer_layer_config": inner,
        **more,
    }


_SLIDING = {"layer_types": ["sliding_attention"] * 2, "sliding_window": 24, "use_sliding_window": True}
# Name, note, config.json, what differs from it in the reference, rows that each round commits
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], list[int]]] = [
    (
        "10_v1_causal_head",
        "JetSpec style: causal_head true, all full attention, rope_parameters; a chain, as its own engine drafts with a width of 1",
        {
            **_QWEN, "architectures": ["DFlashDraftModel"], "auto_map": {"AutoModel": "dflash.DFlashDraftModel"}, "block_size": 12,
            "dflash_config": {"causal_head": True, "mask_token_id": 307, "target_layer_ids": TAPS}, "num_hidden_layers": 3,
            "num_target_layers": TARGET_LAYERS, "vocab_size": 308,
        },
        {"is_causal": True},
        [43, 1, 4, 12, 1],
    ),
    (
        "11_v1_from_anchor",
        "speculators style with sample_from_anchor true: every row of the block proposes, the anchor's too",
        _speculators("dflash", 7, 309, {**_QWEN, "num_hidden_layers": 2, "vocab_size": 310}),
        {"is_causal": False},
        [38, 1, 8, 3],
    ),
    (
        "12_dflash2_from_anchor",
        "DaoCloud DFlash 2 style: speculators with sample_from_anchor true, seven rows that propose seven tokens, not causal",
        _speculators(
            "dflash2", 7, 311, {**_QWEN, **_SLIDING, "num_hidden_layers": 2, "vocab_size": 312}, **_SELECTOR,
            sliding_window_non_causal=True,
        ),
        {"is_causal": False, "layer_types": ("sliding_attention",) * 2, "sliding_window": 24, **_SELECTOR},
        [41, 2, 8, 3, 5],
    ),
]  # fmt: skip


def make(folder: Path, note: str, config: dict[str, Any], reference: dict[str, Any], commits: list[int]) -> None:
    inner = config.get("transformer_layer_config", config)
    mask = config.get("mask_token_id", config.get("dflash_config", {}).get("mask_token_id"))
    block, first = config["block_size"], 0 if config.get("sample_from_anchor") else 1
    names = "hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim intermediate_size vocab_size"
    settings = DFlashConfig(
        **{name: inner[name] for name in names.split()},
        rms_norm_eps=inner["rms_norm_eps"],
        rope_theta=inner["rope_parameters"]["rope_theta"],
        max_position_embeddings=4096,
        block_size=block,
        target_layer_ids=tuple(TAPS),
        num_target_layers=TARGET_LAYERS,
        mask_token_id=mask,
        **reference,
    )
    second = "selector_rank" in reference
    mx.random.seed(len(folder.name) + block + mask)
    model = (DFlash2DraftModel if second else DFlashDraftModel)(settings)
    drawn = []
    for name, array in tree_flatten(model.parameters()):
        scale = 1.6 / array.shape[-1] ** 0.5 if array.ndim > 1 else 0.2
        if "codebook" in name or "base_kernel" in name:
            scale = 0.7
        drawn.append((name, scale * mx.random.normal(array.shape) + (1.0 if array.ndim == 1 else 0.0)))
    model.load_weights(drawn)
    target = nn.Module()
    target.embed_tokens = nn.Embedding(inner["vocab_size"], HIDDEN)
    target.lm_head = nn.Linear(HIDDEN, inner["vocab_size"], bias=False)
    target.embed_tokens.weight = mx.random.normal(target.embed_tokens.weight.shape)
    target.lm_head.weight = 0.35 * mx.random.normal(target.lm_head.weight.shape)
    model.bind(target)
    stored, rounds, cache, start = dict[str, mx.array](), [], model.make_cache(), 0
    for index, rows in enumerate(commits):
        features = mx.random.normal((rows, len(TAPS) * HIDDEN))
        anchor = mx.random.randint(0, inner["vocab_size"], (1,))
        ids = mx.concatenate([anchor, mx.full((block - 1,), mask)]).astype(mx.int32)
        hidden = model.hidden_states(ids[None], features[None], cache, first)
        logits = model.compute_logits(hidden)
        start += rows
        at = f"round_{index:02}"
        found = {"target_hidden": features, "block_ids": ids, "hidden": hidden[0], "logits": logits[0]}
        if second:
            tokens, candidates, _ = model.candidate_selector.select(hidden, logits, anchor, 0.0)
            found |= _selector(model.candidate_selector, hidden, logits, anchor, tokens, candidates)
        else:
            tokens = mx.argmax(logits, axis=-1)
        found["tokens"] = tokens[0].astype(mx.int32)
        stored |= {f"{at}.{name}": array for name, array in found.items()}
        described = {"index": index, "prefix": at, "start": start, "committed_rows": rows, "block_len": block}
        rounds.append({**described, "block_ids": ids.tolist(), "tokens": found["tokens"].tolist()})
    (folder / "drafter").mkdir(parents=True)
    weights = {name.replace("codebook.weight", "codebook"): array for name, array in drawn}
    mx.save_safetensors(str(folder / "drafter" / "model.safetensors"), weights)
    ends = {"embed_tokens.weight": target.embed_tokens.weight, "lm_head.weight": target.lm_head.weight}
    mx.save_safetensors(str(folder / "target.safetensors"), ends)
    mx.save_safetensors(str(folder / "rounds.safetensors"), stored)
    (folder / "drafter" / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    window = reference.get("sliding_window")
    layers = [{"layer": i, "causal": reference["is_causal"], "window": window} for i in range(inner["num_hidden_layers"])]
    whole = {
        "case": folder.name,
        "note": note,
        "reference": "z-lab dflash 0.1.0 reference implementation (MLX)",
        "resolved_layers": layers,
        "logit_rows": f"block positions {first}..block_len-1",
        "rounds": rounds,
    }
    (folder / "rounds.json").write_text(json.dumps(whole, indent=1) + "\n")


def _selector(selector: Any, hidden: mx.array, logits: mx.array, anchor: mx.array, tokens: mx.array, found: mx.array) -> dict:
    """The candidates, sorted by falling logit, and their scores after the chosen token of the row before."""
    unary = mx.take_along_axis(logits, found, axis=-1)
    order = mx.argsort(-unary, axis=-1)
    found, unary = (mx.take_along_axis(array, order, axis=-1) for array in (found, unary))
    before = mx.concatenate([anchor[None], tokens[:, :-1]], axis=1)
    inner = selector.predecessor_codebook(before)[:, :, None] * selector.hidden_projection(hidden)[:, :, None]
    edges = (inner * selector.successor_codebook(found)).sum(axis=-1)
    return {"candidates": found[0].astype(mx.int32), "candidate_logits": unary[0], "selector_scores": (unary + edges)[0]}


def main(place: Path) -> None:
    mx.set_default_device(mx.Device(mx.cpu))
    for name, *rest in CASES:
        make(place / name, *rest)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
