"""The training loop: steps that a file on disk continues after an interruption."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlx.core as mx
import mlx.optimizers as optimizers
import numpy as np

from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.block_tensors import matrices, vectors
from mlx_engine.drafters.parts.tensors import LOW_RANK, save_tensors
from mlx_engine.drafters.parts.trained_tensors import Trained
from mlx_engine.tuning.block_loss import BlockBatch
from mlx_engine.tuning.recorded_replies import TargetReply, batches

Draw = Callable[[int, np.random.Generator], Sequence[Any]]
"""Returns the batches of a step, which have `weights`: those of their tokens in the loss."""
SAVE_EVERY = 20  # steps
_WARM_UP = 40  # steps
_LOGITS = 64_000_000  # most logits of a step, which bounds its memory
_MOST_NORM = 1.0  # of the gradients
_WEIGHT_DECAY = 0.01  # of the matrices that Muon trains
_AT_KNEE = 0.6  # of the learning rate


@dataclass(frozen=True)
class TrainingPlan:
    """How to train.

    Attributes:
        steps: number of steps.
        rate: highest learning rate of AdamW.
        muon: highest learning rate of Muon, which then trains all matrices but embeddings; 0 for AdamW.
        seed: seed of the first weights and of all draws.
        rank: of the LoRA weights; 0 to train all weights.
        replies: replies per step.
        anchors: most anchors in each.
        knee: share of the steps before which the learning rate falls slowly.
    """

    steps: int
    rate: float
    muon: float
    seed: int
    rank: int = 0
    replies: int = 0
    anchors: int = 0
    knee: float = 0.0

    def scale(self, step: int) -> float:
        """Return the learning rate of a step as a share of the highest one."""
        warm, done = min(1.0, (step + 1) / min(_WARM_UP, self.steps)), step / self.steps
        if done < self.knee:
            return warm * (1 - (1 - _AT_KNEE) * done / self.knee)
        return warm * (1 - done) * (_AT_KNEE / (1 - self.knee) if self.knee else 1.0)


def fitting(plan: TrainingPlan, config: BlockConfig) -> TrainingPlan:
    """Return a plan that fits the memory, with fewer replies and anchors."""
    blocks = max(2, _LOGITS // ((config.vocab_size or 1 << 18) * config.block_size))
    replies = min(plan.replies, max(2, blocks // 4))
    return replace(plan, replies=replies, anchors=min(plan.anchors, blocks // replies))


def first_weights(config: BlockConfig, plan: TrainingPlan, weights: Trained) -> Trained:
    """Return what a plan trains: new LoRA weights, or all weights in float32."""
    if not plan.rank:
        return {
            name: weights[name].astype(mx.float32) for name in (*(f"{each}.weight" for each in matrices(config)), *vectors(config))
        }
    keys = iter(mx.random.split(mx.random.key(plan.seed), len(matrices(config))))
    trained: Trained = {}
    for name, (rows, columns) in matrices(config).items():
        rank = min(plan.rank, rows, columns)
        for suffix, array in zip(
            LOW_RANK, (mx.random.normal((rank, columns), key=next(keys)) / math.sqrt(columns), mx.zeros((rows, rank))), strict=True
        ):
            trained[name + suffix] = array
    return trained


def draw_replies(
    plan: TrainingPlan,
    replies: Sequence[TargetReply],
    general: Sequence[TargetReply],
    block: int,
    ends: frozenset[int],
    draw: np.random.Generator,
) -> list[BlockBatch]:
    """Draw the replies of a step, and anchors in them.

    Args:
        plan: number of replies and anchors.
        replies: replies to the user's prompts.
        general: replies to other prompts, which are half of those drawn, if there are any.
        block: the drafter's block size.
        ends: end tokens.
        draw: draws both.
    """
    others = plan.replies // 2 if general else 0
    drawn = [replies[i] for i in draw.choice(len(replies), plan.replies - others)]
    drawn += [general[i] for i in draw.choice(len(general), others)] if others else []
    return batches(drawn, plan.anchors, block, ends, draw)


_Slopes = Callable[[Trained, Any], tuple[mx.array, Trained]]
"""Returns the loss of a batch and its gradient."""


def _fused(slopes: _Slopes) -> _Slopes:
    """Compile a loss and its gradient together.

    MLX ignores a compiled function inside a gradient.
    """

    @mx.compile
    def run(trained: Trained, arrays: dict[str, mx.array]) -> tuple[mx.array, Trained]:
        return slopes(trained, SimpleNamespace(**arrays))

    return lambda trained, part: run(trained, dict(vars(part)))


class Trainer:
    """Trains LoRA weights, or all weights of a model.

    Args:
        loss: returns the weighted mean of a batch's losses, given what is trained.
        plan: how to train.
        trained: the first weights.
        file: where to save the state every `SAVE_EVERY` steps; a saved state is continued.
        compiled: whether to fuse the operations of the loss, which pays if the batches have few shapes.
    """

    def __init__(
        self, loss: Callable[[Trained, Any], mx.array], plan: TrainingPlan, trained: Trained, file: Path, compiled: bool = False
    ) -> None:
        self._slopes: _Slopes = mx.value_and_grad(loss)
        if compiled:
            self._slopes = _fused(self._slopes)
        self._plan, self._file = plan, file
        self.trained, self.step = trained, 0
        adam = optimizers.AdamW(plan.rate, betas=[0.9, 0.95], weight_decay=0.0)
        muon = optimizers.Muon(plan.muon, momentum=0.95, weight_decay=0.0)  # MLX adds the decay to the gradient
        matrices = {name for name, array in trained.items() if plan.muon and array.ndim == 2 and "embed" not in name}
        self._optimizers: tuple[tuple[Any, float, list[str]], ...] = (
            (adam, plan.rate, [name for name in trained if name not in matrices]),
            (muon, plan.muon, [name for name in trained if name in matrices]),
        )
        for optimizer, _, names in self._optimizers:
            optimizer.init({name: trained[name] for name in names})
        self._restore()

    def run(self, draw: Draw) -> Iterator[float]:
        """Train to the end of the plan, and yield the loss of each step."""
        plan = self._plan
        while self.step < plan.steps:
            generator = np.random.default_rng((plan.seed, self.step))  # so that an interruption changes nothing
            loss, gradient = self._gradient(draw(self.step, generator))
            gradient, _ = optimizers.clip_grad_norm(gradient, _MOST_NORM)
            scale = plan.scale(self.step)
            for optimizer, rate, names in self._optimizers:
                optimizer.learning_rate = rate * scale
                kept = 1 - rate * scale * _WEIGHT_DECAY if isinstance(optimizer, optimizers.Muon) else 1.0
                part = {name: self.trained[name] * kept for name in names}
                self.trained |= optimizer.apply_gradients({name: gradient[name] for name in names}, part)
            mx.eval(self.trained, [optimizer.state for optimizer, _, _ in self._optimizers])
            self.step += 1
            if self.step % SAVE_EVERY == 0 or self.step == plan.steps:
                self.save()
            yield loss

    def _gradient(self, parts: Sequence[Any]) -> tuple[float, Trained]:
        """Return the loss and gradient of batches, one in memory at a time."""
        loss, gradient = 0.0, {name: mx.zeros_like(array) for name, array in self.trained.items()}
        sizes = [cast(float, part.weights.sum().item()) for part in parts]
        total = sum(sizes) or 1.0  # no token counts
        for part, size in zip(parts, sizes, strict=True):
            some, slopes = self._slopes(self.trained, part)
            gradient = {name: array + slopes[name] * (size / total) for name, array in gradient.items()}
            mx.eval(gradient, some)
            loss += cast(float, some.item()) * size / total
        return loss, gradient

    def save(self) -> None:
        """Save weights and the optimizers' moments, to continue from here.

        Raises:
            UserError: the disk is full.
        """
        arrays = dict(self.trained)
        for optimizer, _, names in self._optimizers:
            arrays |= {f"{name}|{key}": array for name in names for key, array in optimizer.state[name].items()}
        save_tensors(self._file, arrays, {"step": str(self.step)})

    def _restore(self) -> None:
        """Continue from a saved state. A damaged one counts as missing."""
        try:
            arrays, header = cast(tuple[Trained, dict[str, str]], mx.load(str(self._file), return_metadata=True))
            trained = {name: arrays[name] for name in self.trained}
            states = [
                {name: {key: arrays[f"{name}|{key}"] for key in optimizer.state[name]} for name in names}
                for optimizer, _, names in self._optimizers
            ]
            mx.eval(trained, states)
            step = int(header["step"])
        except (OSError, RuntimeError, ValueError, KeyError):
            return
        self.trained, self.step = trained, step
        for (optimizer, _, _), state in zip(self._optimizers, states, strict=True):
            optimizer.state |= {**state, "step": mx.array(step, mx.uint64)}
