"""Muon for matrices, AdamW for the rest, one learning-rate schedule for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

MATRIX_RATE, OTHER_RATE = 0.02, 3e-3
WARM_UP = 40  # steps
AT_KNEE = 0.6


@dataclass(frozen=True)
class Schedule:
    """Warm up, fall slowly to 60% of `peak` until the knee, then linearly to zero at the end.

    Progress is measured in steps, or in seconds if `seconds` is given, so that training ends on time on a busy machine.
    """

    steps: int
    seconds: float | None = None
    knee: float = 0.0  # fraction of the run
    peak: float = 1.0  # fraction of the full rate

    def progress(self, step: int, seconds: float) -> float:
        """Return how much of the run is done, from 0 to 1 or more."""
        return step / self.steps if self.seconds is None else seconds / self.seconds

    def scale(self, step: int, progress: float) -> float:
        """Return the fraction of the full rate."""
        warm = self.peak * min(1.0, (step + 1) / WARM_UP)
        if progress < self.knee:
            return warm * (1 - (1 - AT_KNEE) * progress / self.knee)
        return warm * (AT_KNEE if self.knee else 1.0) * max(0.0, 1 - progress) / (1 - self.knee)


class Optimizer:
    """Both optimizers of a model."""

    def __init__(self, model: nn.Module) -> None:
        matrices: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                (matrices if weight.dim() == 2 and "embed" not in name else others).append(weight)
        self.weights = [*matrices, *others]
        self.muon = torch.optim.Muon(matrices, lr=MATRIX_RATE, momentum=0.95, weight_decay=0.01, adjust_lr_fn="original")
        self.adam = torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0.0)

    def step(self, scale: float) -> None:
        """Apply and clear the gradients, at this fraction of the full rate."""
        for optimizer, rate in ((self.muon, MATRIX_RATE), (self.adam, OTHER_RATE)):
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.muon.step()
        self.adam.step()
        self.muon.zero_grad(set_to_none=True)
        self.adam.zero_grad(set_to_none=True)

    def state(self) -> list[dict[str, Any]]:
        """Return what a checkpoint needs."""
        return [self.muon.state_dict(), self.adam.state_dict()]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Continue from a checkpoint."""
        self.muon.load_state_dict(state[0])
        self.adam.load_state_dict(state[1])
