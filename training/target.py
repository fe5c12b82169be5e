"""Train the target on the generated text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from .data import Row
from .model import Shape, Target
from .optimizer import Optimizer, Schedule

SHORT, LONG = (384, 16), (1024, 6)  # (tokens, windows) per step
LONG_EVERY = 6
SAVE_EVERY = 200


def save(model: Target, shape: Shape, folder: Path) -> None:
    """Save the target in the published layout."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: weight.detach().bfloat16().contiguous() for name, weight in model.state_dict().items()}
    save_file(state, str(folder / "model.safetensors"), metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(shape.target_config(), indent=1) + "\n")
    generation = {"eos_token_id": [2], "pad_token_id": 0, "do_sample": False}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=1) + "\n")


def load(folder: Path, shape: Shape) -> Target:
    """Load a saved target, frozen."""
    model = Target(shape)
    model.load_state_dict({name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()})
    return model.eval().requires_grad_(False)


def train(
    row: Row,
    shape: Shape,
    folder: Path,
    schedule: Schedule,
    seed: int,
    log: Callable[[str], None] = print,
    *,
    resume: bool = False,
) -> Target:
    """Train for a fixed number of steps, saving regularly. `resume` begins with the target in the folder."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed + schedule.start)
    model = load(folder, shape).train().requires_grad_(True) if resume else Target(shape)
    optimizer = Optimizer(model, schedule)
    steps = schedule.steps

    def loss_of(ids: Tensor, reply: Tensor) -> Tensor:
        hidden, _ = model(ids[:, :-1])
        weight = reply[:, 1:].flatten().float()
        loss = F.cross_entropy(model.logits(hidden).flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return (loss * weight).sum() / weight.sum()

    compiled = torch.compile(loss_of, dynamic=False)
    began = time.monotonic()
    recent: list[float] = []
    with torch.autocast("cpu", torch.bfloat16):
        for step in range(schedule.start, steps):
            length, count = LONG if step % LONG_EVERY == LONG_EVERY - 1 else SHORT
            loss = compiled(*row.windows(count, length + 1, generator))
            loss.backward()
            optimizer.step(step)
            recent.append(loss.item())
            if step % 25 == 24:
                log(f"target {time.monotonic() - began:.0f} s, step {step + 1} of {steps}, loss {sum(recent) / len(recent):.4f}")
                recent = []
            if step % SAVE_EVERY == SAVE_EVERY - 1:
                save(model, shape, folder)
    save(model, shape, folder)
    return model
