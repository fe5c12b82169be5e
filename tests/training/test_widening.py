"""A target that is widened before more training."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="training needs the train extra")

from training.model import Shape, Target  # noqa: E402
from training.target import widened  # noqa: E402


def test_a_widened_target_computes_the_same_and_learns_with_its_new_columns() -> None:
    torch.manual_seed(1)
    narrow = Target(replace(Shape(), intermediate_size=256))
    wide = widened(narrow)
    ids = torch.randint(0, Shape().vocab_size, (2, 12))
    before, _ = narrow(ids)
    after, _ = wide(ids)
    assert wide.model.layers[0].mlp.down_proj.weight.shape == (320, Shape().intermediate_size)
    torch.testing.assert_close(wide.logits(after), narrow.logits(before))
    wide.logits(after).square().sum().backward()
    assert all(layer.mlp.down_proj.weight.grad[:, 256:].abs().sum() > 0 for layer in wide.model.layers)
