"""Muon for matrices, AdamW for the rest, one learning-rate schedule for both."""

from __future__ import annotations

import torch
from torch import nn

MATRIX_RATE, OTHER_RATE = 0.02, 3e-3


class Optimiser:
    """Warm up for 40 steps, then fall in a straight line to zero at the last step."""

    def __init__(self, model: nn.Module, steps: int) -> None:
        matrices: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                (matrices if weight.dim() == 2 and "embed" not in name else others).append(weight)
        self.weights = [*matrices, *others]
        self.steps = steps
        self.muon = torch.optim.Muon(
            matrices, lr=MATRIX_RATE, momentum=0.95, weight_decay=0.01, adjust_lr_fn="original"
        )
        self.adam = torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0.0)

    def step(self, at: int) -> None:
        """One step with the gradients at hand, which are cleared."""
        scale = min(1.0, (at + 1) / 40) * (1 - at / self.steps)
        for optimiser, rate in ((self.muon, MATRIX_RATE), (self.adam, OTHER_RATE)):
            for group in optimiser.param_groups:
                group["lr"] = rate * scale
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.muon.step()
        self.adam.step()
        self.muon.zero_grad(set_to_none=True)
        self.adam.zero_grad(set_to_none=True)
