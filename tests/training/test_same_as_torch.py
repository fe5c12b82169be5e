"""The trainer in MLX has the loss and the gradients of the script in torch."""

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.drafters.tensors import read
from mlx_engine.pairs.pair import demo_pair
from mlx_engine.training.blocks import DECAY, Batch, BlockModel
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
