"""The training loop of both models, with checkpoints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from .optimizer import Optimizer, Schedule

LOG_EVERY = 25  # steps
CHECKPOINT_EVERY = 120.0  # seconds


def train(
    model: nn.Module,
    loss_of: Callable[..., tuple[Tensor, Tensor]],
    batch: Callable[[int, torch.Generator], tuple[Tensor, ...]],
    schedule: Schedule,
    checkpoint: Path,
    seed: int,
    log: Callable[[str], None],
) -> None:
    """Train until the schedule ends, or continue from the checkpoint of a run that was killed.

    Args:
        loss_of: returns the loss and the share of right tokens of a batch
        batch: returns the batch of a step
        checkpoint: a file that is replaced every two minutes and deleted at the end
    """
    optimizer = Optimizer(model)
    generator = torch.Generator().manual_seed(seed)
    step, before = 0, 0.0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.restore(state["optimizer"])
        generator.set_state(state["generator"])
        step, before = state["step"], state["seconds"]
        log(f"continues at step {step}, after {before:.0f} s")
    compiled = torch.compile(loss_of, dynamic=False)
    began = saved = time.monotonic()
    recent: list[tuple[float, float]] = []
    with torch.autocast("cpu", torch.bfloat16):
        while True:
            seconds = before + time.monotonic() - began
            progress = schedule.progress(step, seconds)
            if progress >= 1:
                break
            loss, right = compiled(*batch(step, generator))
            loss.backward()
            optimizer.step(schedule.scale(step, progress))
            recent.append((loss.item(), right.item()))
            step += 1
            if step % LOG_EVERY == 0:
                mean_loss, mean_right = (sum(values) / len(recent) for values in zip(*recent, strict=True))
                log(f"step {step}, {progress:.1%} done, loss {mean_loss:.4f}, right {mean_right:.4f}")
                recent = []
            if time.monotonic() - saved > CHECKPOINT_EVERY:
                saved = time.monotonic()
                state = {"model": model.state_dict(), "optimizer": optimizer.state(), "generator": generator.get_state()}
                torch.save({**state, "step": step, "seconds": before + saved - began}, checkpoint.with_suffix(".new"))
                os.replace(checkpoint.with_suffix(".new"), checkpoint)
    log(f"finished after {step} steps and {seconds:.0f} s")
