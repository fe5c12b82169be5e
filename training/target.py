"""Train the target on the generated text."""

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
from .model import Shape, Target
from .optimizer import Schedule

SHORT, LONG = (384, 16), (1024, 6)  # (tokens, windows) per step
STEPS = ("short", "tools", "short", "tools", "short", "long")  # in turn; conversations with tools need long windows


def save(model: Target, folder: Path) -> None:
    """Save the target in the published layout."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: weight.detach().bfloat16().contiguous() for name, weight in model.state_dict().items()}
    (folder / "config.json").write_text(json.dumps(Shape().target_config(), indent=1) + "\n")
    generation = {"eos_token_id": [2], "pad_token_id": 0, "do_sample": False}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=1) + "\n")
    save_file(state, str(folder / "model.new"), metadata={"format": "mlx"})
    os.replace(folder / "model.new", folder / "model.safetensors")  # last: marks a finished run


def load(folder: Path) -> Target:
    """Load a saved target, frozen."""
    config = json.loads((folder / "config.json").read_text())
    model = Target(replace(Shape(), intermediate_size=config["intermediate_size"]))
    model.load_state_dict({name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()})
    return model.eval().requires_grad_(False)


def widened(small: Target) -> Target:
    """Return a target of today's width that computes what a narrower one does, until its new columns are trained."""
    model = Target(Shape())
    with torch.no_grad():
        for (name, weight), known in zip(model.named_parameters(), small.parameters(), strict=True):
            if "down_proj" in name:
                weight.zero_()
            weight[tuple(map(slice, known.shape))] = known
    return model


def train(row: Row, tools: Row, model: Target, folder: Path, schedule: Schedule, seed: int, log: Callable[[str], None]) -> None:
    """Train the target on conversations without and with tools, and save it in the folder."""

    def batch(step: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        sort = STEPS[step % len(STEPS)]
        length, count = SHORT if sort == "short" else LONG
        return (tools if sort == "tools" else row).windows(count, length + 1, generator)

    def loss_of(ids: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
        hidden, _ = model(ids[:, :-1])
        labels = ids[:, 1:].flatten()
        weight = reply[:, 1:].flatten().float()
        logits = model.logits(hidden).flatten(0, 1)
        loss = F.cross_entropy(logits, labels, reduction="none")
        right = ((logits.argmax(-1) == labels) * weight).sum() / weight.sum()
        return (loss * weight).sum() / weight.sum(), right.detach()

    loop.train(model.train().requires_grad_(True), loss_of, batch, schedule, folder / "checkpoint.pt", seed, log)
    save(model, folder)
    (folder / "checkpoint.pt").unlink(missing_ok=True)
