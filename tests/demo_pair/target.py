"""Train the target, a small Qwen3, on the generated text."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models.qwen3 import Model, ModelArgs

from mlx_engine.drafters.parts.tensors import save_tensors
from mlx_engine.tuning.training_loop import Trainer, TrainingPlan
from tests.demo_pair.forward import logits
from tests.demo_pair.text import Row
from tests.demo_pair.tokenizer import END, MAX_POSITIONS, VOCAB

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 320,
    "num_hidden_layers": 8,
    "intermediate_size": 1536,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": VOCAB,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "max_position_embeddings": MAX_POSITIONS,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "hidden_act": "silu",
    "eos_token_id": END,
    "torch_dtype": "bfloat16",
}
SHORT, LONG = (384, 16), (1024, 6)  # (tokens, windows) per step
STEPS = ("short", "tools", "short", "tools", "short", "long")  # in turn; conversations with tools need long windows
TOGETHER = 3072  # tokens in a batch, which bounds the memory


@dataclass(frozen=True)
class TextBatch:
    """Windows of text [N, S + 1], and the weights [N, S] of their tokens after the first."""

    ids: mx.array
    weights: mx.array


def first_weights(seed: int) -> dict[str, mx.array]:
    """Return normal weights; those that write to the residual stream are smaller."""
    weights = dict(tree_flatten(Model(ModelArgs.from_dict(CONFIG)).parameters()))
    keys = iter(mx.random.split(mx.random.key(seed), len(weights)))
    for name, weight in weights.items():
        if weight.ndim == 2:
            gain = 0.7 * (0.3 if "o_proj" in name or "down_proj" in name else 1.0) / math.sqrt(weight.shape[1])
            weights[name] = mx.random.normal(weight.shape, key=next(keys)) * (0.02 if "embed" in name else gain)
    return weights


def loss(trained: dict[str, mx.array], batch: TextBatch) -> mx.array:
    """Return the cross-entropy of the replies."""
    losses = nn.losses.cross_entropy(logits(CONFIG, trained, batch.ids[:, :-1]), batch.ids[:, 1:])
    return (losses * batch.weights).sum() / mx.maximum(batch.weights.sum(), 1e-9)


def draw(row: Row, tools: Row, step: int, generator: np.random.Generator) -> list[TextBatch]:
    """Return the batches of a step."""
    sort = STEPS[step % len(STEPS)]
    length, count = SHORT if sort == "short" else LONG
    ids, reply = (tools if sort == "tools" else row).windows(count, length + 1, generator)
    parts = [slice(at, at + TOGETHER // length) for at in range(0, count, TOGETHER // length)]
    return [TextBatch(mx.array(ids[part]), mx.array(reply[part, 1:].astype(np.float32))) for part in parts]


def train(
    row: Row, tools: Row, plan: TrainingPlan, folder: Path, weights: dict[str, mx.array] | None, log: Callable[[str], None]
) -> None:
    """Train the target on conversations without and with tools, and save it in the folder.

    Args:
        row: the conversations without tools.
        tools: the conversations with tools.
        plan: how to train.
        folder: has the tokenizer, and the state of an interrupted run.
        weights: the first weights, or None for random ones.
        log: called with each step and its loss.
    """
    state, first = folder / "state.safetensors", weights or first_weights(plan.seed)
    trainer = Trainer(loss, plan, {name: weight.astype(mx.float32) for name, weight in first.items()}, state, compiled=True)
    for mean in trainer.run(lambda step, generator: draw(row, tools, step, generator)):
        log(f"target: step {trainer.step} of {plan.steps}, loss {mean:.4f}")
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    generation = {"eos_token_id": [END], "pad_token_id": 0, "do_sample": False}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=1) + "\n")
    saved = {name: weight.astype(mx.bfloat16) for name, weight in trainer.trained.items()}
    save_tensors(folder / "model.safetensors", saved, {"format": "mlx"})  # last: marks a finished run
    state.unlink()
