"""The trainer in MLX has the loss, the gradients, and Muon's steps of the script in torch."""

from types import SimpleNamespace

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.drafters.tensors import read
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.tuning import training_loop
from mlx_engine.tuning.block_model import DECAY, Batch, BlockModel
from mlx_engine.tuning.training_loop import Trainer, TrainingPlan
from tests.mlx_engine.conftest import loaded

torch = pytest.importorskip("torch")


def test_loss_and_gradients_are_those_of_the_script():
    from training import drafter as drafting
    from training import target as targeting

    target_folder, drafter_folder = demo_pair()
    pair, rng = loaded(target_folder, drafter_folder).pair, np.random.default_rng(1)
    ids, anchors = rng.integers(5, 1500, (2, 72)), np.sort(rng.integers(0, 56, (2, 4)), axis=1)
    features = mx.stack([pair.target.forward_tapped(mx.array(row), pair.target.caches())[1] for row in ids])
    blocks = np.stack([[row[at : at + 16] for at in chosen] for row, chosen in zip(ids, anchors, strict=True)]).astype(np.uint32)
    weights = np.broadcast_to(np.exp(-np.arange(15) / DECAY), (2, 4, 15)).astype(np.float32)
    trained = {name: array.astype(mx.float32) for name, array in read(drafter_folder).items()}
    model = BlockModel(pair.drafter.config, read(drafter_folder), mx.float32, pair.target.embed, pair.target.head)
    batch = Batch(features, mx.array(blocks), mx.array(anchors.astype(np.int32)), mx.array(weights))
    loss, gradient = mx.value_and_grad(model.loss)(trained, batch)

    target, drafter = targeting.load(target_folder), drafting.load(drafter_folder).train().requires_grad_(True)
    logits = target.logits(drafting.block_states(target, drafter, torch.tensor(ids), torch.tensor(anchors))[:, :, 1:])
    labels = torch.tensor(blocks[:, :, 1:].astype(np.int64)).flatten()
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 2), labels, reduction="none")
    expected = (losses * torch.tensor(weights).flatten()).sum() / weights.sum()
    expected.backward()

    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    for name, weight in drafter.named_parameters():
        reference = weight.grad.numpy()
        assert np.linalg.norm(np.array(gradient[name]) - reference) < 1e-4 * np.linalg.norm(reference), name


def test_muon_takes_the_steps_of_the_script(monkeypatch, tmp_path):
    from training.optimizer import Optimizer, Schedule

    rng, steps, sizes = np.random.default_rng(2), 3, {"tall": (96, 64), "wide": (48, 160), "norm": (64,)}
    first = {name: (0.05 * rng.normal(size=size)).astype(np.float32) for name, size in sizes.items()}
    slopes = [{name: (2e-3 * rng.normal(size=size)).astype(np.float32) for name, size in sizes.items()} for _ in range(steps)]
    plan = TrainingPlan(steps=steps, replies=1, anchors=1, rate=3e-3, muon=0.02, rank=0, seed=0)
    model = SimpleNamespace(config=SimpleNamespace(block_size=16))
    trainer = Trainer(model, plan, {name: mx.array(weight) for name, weight in first.items()}, tmp_path / "state.safetensors")
    monkeypatch.setattr(training_loop, "batches", lambda *_: ())
    monkeypatch.setattr(
        trainer, "_gradient", lambda _: (0.0, {name: mx.array(slope) for name, slope in slopes[trainer.step].items()})
    )
    for _ in trainer.run([None], [], frozenset()):
        pass

    script = torch.nn.ParameterDict({name: torch.nn.Parameter(torch.tensor(weight)) for name, weight in first.items()})
    optimizer, schedule = Optimizer(script), Schedule(steps)
    for step, slope in enumerate(slopes):
        for name, weight in script.items():
            weight.grad = torch.tensor(slope[name])
        optimizer.step(schedule.scale(step, schedule.progress(step, 0.0)) * 40 / steps)  # the trainer warms up in 3 steps of 3
    for name in ("tall", "wide"):
        weight = script[name]
        changed, expected = np.array(trainer.trained[name]) - first[name], weight.detach().numpy() - first[name]
        # torch's Muon computes in bfloat16
        assert np.linalg.norm(changed - expected) < 0.03 * np.linalg.norm(expected), name
