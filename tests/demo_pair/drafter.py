"""Train the drafter to fill blocks as the frozen target would.

The labels are the reference replies, which are also the target's greedy replies once it has learned them.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np

from mlx_engine.drafters.parts.tensors import save_tensors
from mlx_engine.engine.engine import Engine
from mlx_engine.loading.drafter_files import read
from mlx_engine.targets.target import Target
from mlx_engine.tuning import fresh
from mlx_engine.tuning.block_loss import DECAY, BlockBatch, BlockLoss
from mlx_engine.tuning.training_loop import Trainer, TrainingPlan, first_weights
from tests.demo_pair.text import Row
from tests.demo_pair.tokenizer import END, MASK

LAYERS, TAPS, BLOCK, MLP = 2, 3, 16, 896
SHORT, LONG = (512, 10, 32), (1024, 5, 64)  # (tokens, windows, anchors in each) per step
TOOLS_EVERY = 4  # steps; conversations with tools need long windows


def blocks(target: Target, row: Row, shape: tuple[int, int, int], draw: np.random.Generator) -> list[BlockBatch]:
    """Draw windows, and anchors in their replies."""
    length, windows, count = shape
    ids, reply = row.windows(windows, length, draw)
    allowed = reply & (ids != END)  # the first block of a reply begins at its first token, which the target has just chosen
    allowed[:, -BLOCK:] = False
    made = []
    for tokens, places in zip(ids, allowed, strict=True):
        if not places.any():
            continue
        anchors = np.sort(draw.choice(np.flatnonzero(places), count, replace=places.sum() < count))
        filled = tokens[anchors[:, None] + np.arange(BLOCK)].astype(np.uint32)
        ends = filled[:, 1:] == END
        weights = np.exp(-np.arange(BLOCK - 1) / DECAY) * (ends.cumsum(axis=1) - ends == 0)
        _, features = target.forward_tapped(mx.array(tokens[: anchors[-1]]), target.caches())
        made.append(
            BlockBatch(features[None], mx.array(filled[None]), mx.array(anchors[None]), mx.array(weights[None].astype(np.float32)))
        )
    return made


def train(
    row: Row, tools: Row, plan: TrainingPlan, target: Path, folder: Path, warm: Path | None, log: Callable[[str], None]
) -> None:
    """Train the drafter for a frozen target, and save it.

    Args:
        row: the conversations without tools.
        tools: the conversations with tools.
        plan: how to train.
        target: folder of the target.
        folder: the new folder.
        warm: folder of a drafter to begin with, or None for random weights.
        log: called with each step and its loss.
    """
    unfinished = folder.with_name("unfinished-drafter")
    if warm is None:
        fresh.create(unfinished, target, LAYERS, TAPS, BLOCK, MASK, plan.seed, MLP)
    else:
        shutil.copytree(warm, unfinished, dirs_exist_ok=True)
    engine = Engine()
    list(engine.load(target, unfinished))
    pair = engine.pair
    assert pair.drafter is not None
    config, weights, state = pair.drafter.config, read(unfinished), folder.with_name("drafter-state.safetensors")
    model = BlockLoss(config, dict(weights), mx.float32, pair.target.embed, pair.target.head)
    trainer = Trainer(model, plan, first_weights(config, plan, weights), state)

    def draw(step: int, generator: np.random.Generator) -> list[BlockBatch]:
        with_tools = step % TOOLS_EVERY == TOOLS_EVERY - 1
        return blocks(pair.target, tools if with_tools else row, LONG if with_tools else SHORT, generator)

    for loss in trainer.run(draw):
        log(f"drafter: step {trainer.step} of {plan.steps}, loss {loss:.4f}")
    saved = {name: weight.astype(mx.bfloat16) for name, weight in trainer.trained.items()}
    save_tensors(unfinished / "model.safetensors", saved, {"format": "mlx"})
    state.unlink()
    unfinished.rename(folder)
