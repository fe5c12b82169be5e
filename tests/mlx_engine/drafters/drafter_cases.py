"""The reference drafters, and copies of them in other published layouts."""

import json
from pathlib import Path

import mlx.core as mx
import numpy as np

from mlx_engine.drafters.dflash2.config import DFlash2Config
from mlx_engine.drafters.parts.chooser import ProposalChooser
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.model import BlockModel
from mlx_engine.drafters.registry import make, parse
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.drafters.drafter_reference import Reference


class Sharpened(ProposalChooser):
    """Proposes by a simple rule: the largest of twice the logits plus noise."""

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        return mx.argmax(2 * logits if noise is None else 2 * logits + noise, axis=-1)


def block_logits(drafter: BlockModel, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
    """Return the logits [width - 1, V] of a block."""
    return drafter.logits(drafter.hidden(context, anchor, width))


class Case:
    """A changeable drafter case of tests/golden: config, tensors, and the target's embedding and head."""

    def __init__(self, name: str) -> None:
        folder = GOLDEN / name
        self.config: dict = json.loads((folder / "drafter" / "config.json").read_text(encoding="utf-8"))
        self.weights: dict[str, mx.array] = dict(mx.load(str(folder / "drafter" / "model.safetensors")))
        target = mx.load(str(folder / "target.safetensors"))
        self.table = target["embed_tokens.weight"]
        self.head = target.get("lm_head.weight", self.table)
        self.rounds = mx.load(str(folder / "rounds.safetensors"))

    def drafter(self, dtype: mx.Dtype = mx.float32, bits: int = 16) -> BlockModel:
        """The engine's drafter."""
        embed, head = (lambda ids: self.table[ids]), (lambda hidden: hidden @ self.head.T)
        return make(parse(self.config), dict(self.weights), dtype, embed, head, bits)

    def reference(self) -> Reference:
        """The same in numpy."""
        c = parse(self.config)
        assert c.rope.kind == "default"
        return Reference(
            {name: np.array(array) for name, array in self.weights.items()},
            c.heads,
            c.kv_heads,
            c.head_dim,
            c.norm_eps,
            c.rope.theta,
            c.windows,
            c.causal,
            getattr(c, "laguna", False),
            c.hidden_size // c.group if isinstance(c, DFlash2Config) else 0,
        )

    def features(self, rounds: int) -> list[mx.array]:
        """Features of the first rounds."""
        return [self.rounds[f"round_{i:02}.target_hidden"] for i in range(rounds)]

    def save(self, folder: Path) -> Path:
        """As a checkpoint folder."""
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(self.config), encoding="utf-8")
        mx.save_safetensors(str(folder / "model.safetensors"), self.weights)
        return folder


def flat(config: dict) -> dict:
    """The same config with everything at the top level."""
    return {**{name: value for name, value in config.items() if name != "dflash_config"}, **config["dflash_config"]}


def speculators(config: dict, kind: str = "dflash", **more: object) -> dict:
    """The same config in speculators' layout."""
    whole = flat(config)
    outside = ("block_size", "mask_token_id", "conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k")
    inside = {
        name: value
        for name, value in whole.items()
        if name not in (*outside, "target_layer_ids", "num_target_layers", "architectures", "auto_map", "is_causal")
    }
    return {
        "architectures": ["DFlashSpeculator" if kind == "dflash" else "DFlash2DraftModel"],
        "speculators_model_type": kind,
        "speculators_version": "0.9.0",
        "aux_hidden_state_layer_ids": [layer + 1 for layer in whole["target_layer_ids"]],
        "draft_vocab_size": whole["vocab_size"],
        "sample_from_anchor": False,
        "max_anchors": 3072,
        "target_hidden_size": None,
        "speculators_config": {"algorithm": kind, "default_proposal_method": "greedy"},
        "transformer_layer_config": inside,
        **{name: whole[name] for name in outside if name in whole},
        **more,
    }
