"""A pass that streams share reads each weight as often as one stream's pass with as many rows."""

import pytest

from tests.benchmarks.shared_passes import ROWS, STREAMS, read_more_often
from tests.mlx_engine.tiny_families import FAMILIES, TWO_FORMULAS

# Small arrays of convolutions, recurrences, and attention, which run per stream
PER_STREAM = ("conv1d.weight", "conv1d.bias", "conv.weight", "A_log", "dt_bias", ".D", "net.norm.weight", "sinks")


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", FAMILIES)
def test_each_weight_is_read_once_for_all_streams(name, rows):
    more = read_more_often(name, rows)
    # Latent attention runs per stream with its projections
    latent = {weight for weight in more if ".self_attn." in weight and not weight.endswith(PER_STREAM)}
    assert bool(latent) == (name in TWO_FORMULAS)
    assert all(weight in latent or (weight.endswith(PER_STREAM) and count == STREAMS - 1) for weight, count in more.items())
