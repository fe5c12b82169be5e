"""Train the drafter to fill blocks as the frozen target would.

The labels are the reference replies, which are also the target's greedy replies once it has learned them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from . import loop
from .data import Row
from .model import BLOCK, TAPS, Drafter, Shape, Target
from .optimizer import Schedule
from .tokenizer import END, MASK

SHAPE = replace(Shape(), intermediate_size=896)
LAYERS = 2
SHORT, LONG = (512, 10, 32), (1024, 5, 64)  # (tokens, windows, anchors in each) per step
TOOLS_EVERY = 4  # steps; conversations with tools need long windows
DECAY = 7.0  # positions in the block over which the weight falls by a factor of e


def block_states(target: Target, drafter: Drafter, ids: Tensor, anchors: Tensor) -> Tensor:
    """Return the drafter's last states (batch, anchors, block, hidden) for blocks that begin at `anchors`."""
    batch, count = anchors.shape
    length = ids.shape[1]
    with torch.no_grad():
        tapped = torch.cat(target(ids, TAPS)[1], -1)
        tokens = torch.full((batch, count, BLOCK), MASK)
        tokens[:, :, 0] = torch.gather(ids, 1, anchors)
        noise = target.embed(tokens.view(batch, -1))
    positions = (anchors[:, :, None] + torch.arange(BLOCK)).view(batch, -1)
    cos, sin = target.at(positions)
    seen = torch.arange(length) < anchors.repeat_interleave(BLOCK, 1)[:, :, None]
    block = torch.arange(count * BLOCK) // BLOCK
    own = (block[:, None] == block).expand(batch, -1, -1)
    mask = torch.where(torch.cat([seen, own], 2), 0.0, -1e9).to(target.precision)[:, None]
    context_at = target.at(torch.arange(length))
    return drafter(noise, tapped, (cos[:, None], sin[:, None]), context_at, mask).view(batch, count, BLOCK, -1)


def save(drafter: Drafter, folder: Path) -> None:
    """Save the drafter in the published layout."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: weight.detach().bfloat16().contiguous() for name, weight in drafter.state_dict().items()}
    (folder / "config.json").write_text(json.dumps(SHAPE.drafter_config(LAYERS), indent=1) + "\n")
    save_file(state, str(folder / "model.new"), metadata={"format": "mlx"})
    os.replace(folder / "model.new", folder / "model.safetensors")  # last: marks a finished run


def load(folder: Path) -> Drafter:
    """Load a saved drafter, frozen."""
    drafter = Drafter(SHAPE, LAYERS)
    drafter.load_state_dict({name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()})
    return drafter.eval().requires_grad_(False)


def blocks(row: Row, shape: tuple[int, int, int], generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw windows, anchors in replies, the tokens after each anchor, and their weights."""
    length, windows, count = shape
    ids, reply = row.windows(windows, length, generator)
    # The first block of a reply begins at its first token, which the target has just chosen.
    allowed = reply.bool() & (ids != END)
    allowed[:, -BLOCK:] = False
    anchors = torch.multinomial(allowed.float() + 1e-9, count, generator=generator).sort(1).values
    anchors = anchors.clamp(max=length - BLOCK)
    where = anchors[:, :, None] + torch.arange(1, BLOCK)
    labels = torch.gather(ids[:, None].expand(-1, count, -1), 2, where)
    ends = (labels == END).int()
    past_end = (ends.cumsum(-1) - ends) > 0
    weights = torch.exp(-torch.arange(BLOCK - 1) / DECAY) * ~past_end * torch.gather(allowed, 1, anchors)[:, :, None]
    return ids, anchors, labels, weights


def train(
    row: Row,
    tools: Row,
    target: Target,
    drafter: Drafter,
    folder: Path,
    schedule: Schedule,
    seed: int,
    log: Callable[[str], None],
) -> None:
    """Train the drafter for a frozen target, on conversations without and with tools, and save it in the folder."""

    def batch(step: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return blocks(tools, LONG, generator) if step % TOOLS_EVERY == TOOLS_EVERY - 1 else blocks(row, SHORT, generator)

    def loss_of(ids: Tensor, anchors: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        logits = target.logits(block_states(target, drafter, ids, anchors)[:, :, 1:])
        loss = F.cross_entropy(logits.flatten(0, 2), labels.flatten(), reduction="none")
        right = ((logits.argmax(-1) == labels) * weights).sum() / weights.sum()
        return (loss * weights.flatten()).sum() / weights.sum(), right.detach()

    loop.train(drafter.train().requires_grad_(True), loss_of, batch, schedule, folder / "checkpoint.pt", seed, log)
    save(drafter, folder)
    (folder / "checkpoint.pt").unlink(missing_ok=True)
