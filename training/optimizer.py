"""Muon for matrices, AdamW for the rest, one learning-rate schedule for both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

MATRIX_RATE, OTHER_RATE = 0.02, 3e-3
WARM_UP = 40


@dataclass(frozen=True)
class Schedule:
    """Warm up, fall slowly to `at_knee` until the knee, then linearly to zero at the last step.

    `start` is the first step of a resumed run, which warms up again because the optimizers' state is not saved.
    """

    steps: int
    knee: int = 0
    start: int = 0
    at_knee: float = 0.6

    def scale(self, at: int) -> float:
        """Return the fraction of the full rate at a step."""
        warm = min(1.0, (at - self.start + 1) / WARM_UP)
        if at < self.knee:
            return warm * (1 - (1 - self.at_knee) * at / self.knee)
        return warm * (self.at_knee if self.knee else 1.0) * (self.steps - at) / (self.steps - self.knee)


class Optimizer:
    """Both optimizers of a model, with one schedule."""

    def __init__(self, model: nn.Module, schedule: Schedule) -> None:
        matrices: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                (matrices if weight.dim() == 2 and "embed" not in name else others).append(weight)
        self.weights = [*matrices, *others]
        self.schedule = schedule
        self.muon = torch.optim.Muon(matrices, lr=MATRIX_RATE, momentum=0.95, weight_decay=0.01, adjust_lr_fn="original")
        self.adam = torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0.0)

    def step(self, at: int) -> None:
        """Apply and clear the gradients."""
        scale = self.schedule.scale(at)
        for optimizer, rate in ((self.muon, MATRIX_RATE), (self.adam, OTHER_RATE)):
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.muon.step()
        self.adam.step()
        self.muon.zero_grad(set_to_none=True)
        self.adam.zero_grad(set_to_none=True)
