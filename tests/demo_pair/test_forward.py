"""The fast forward pass has the losses and slopes of mlx-lm's."""

from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_unflatten
from mlx_lm.models.qwen3 import Model, ModelArgs

from mlx_engine.tuning.training_loop import Trainer, TrainingPlan
from tests.demo_pair import forward, target

TINY = target.CONFIG | {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "head_dim": 16, "vocab_size": 64}


def test_sigmoid_and_its_product_are_those_of_mlx() -> None:
    x, up = mx.linspace(-30, 30, 4001), mx.sin(mx.arange(4001))
    assert np.allclose(forward.swiglu(x, up), nn.silu(x) * up, rtol=1e-5, atol=5e-6)  # the sigmoid is right to 1e-7, and x up to 30


@pytest.mark.parametrize("length", [7, 128, 300])  # less than a group of queries, a whole one, and parts of three
def test_losses_and_slopes_are_those_of_mlx_lm(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(target, "CONFIG", TINY)
    weights = target.first_weights(3)
    weights = {name: array * (3 if array.ndim == 2 else 1) for name, array in weights.items()}  # so that attention is not flat
    draw = np.random.default_rng(1)
    ids, counted = draw.integers(0, 64, (2, length + 1)), draw.random((2, length)) < 0.5
    batch = target.TextBatch(mx.array(ids.astype(np.int32)), mx.array(counted.astype(np.float32)))
    model = Model(ModelArgs.from_dict(TINY))

    def slow(trained: dict[str, mx.array], batch: target.TextBatch) -> mx.array:
        model.update(tree_unflatten([*trained.items()]))
        losses = nn.losses.cross_entropy(model(batch.ids[:, :-1]), batch.ids[:, 1:])
        return (losses * batch.weights).sum() / batch.weights.sum()

    right, slopes = mx.value_and_grad(slow)(weights, batch)
    loss, fast = mx.value_and_grad(target.loss)(weights, batch)
    assert loss.item() == pytest.approx(right.item(), rel=1e-5)
    for name in weights:
        distance = mx.linalg.norm(fast[name] - slopes[name]).item()
        assert distance < 1e-4 * mx.linalg.norm(slopes[name]).item() + 1e-7, name  # float32 over three layers


def test_a_compiled_loss_trains_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(target, "CONFIG", TINY)
    plan = TrainingPlan(steps=4, rate=3e-3, muon=0.02, seed=1)

    def draw(step: int, generator: np.random.Generator) -> list[target.TextBatch]:
        shape = (2, 16 + 8 * (step % 2))
        ids = mx.array(generator.integers(0, 64, shape).astype(np.int32))
        return [target.TextBatch(ids, mx.ones((shape[0], shape[1] - 1)))] * 2

    def losses(name: str, compiled: bool) -> list[float]:
        return list(Trainer(target.loss, plan, target.first_weights(3), tmp_path / name, compiled).run(draw))

    assert losses("fused", True) == pytest.approx(losses("plain", False), rel=1e-5)
