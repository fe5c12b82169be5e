"""Predictions for several computers: the parts of real models, their exchanges, and how both follow the number of computers."""

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx.utils import tree_flatten

from mlx_engine.models.configs.families import family_of
from mlx_engine.models.configs.shardable import SHARDABLE
from mlx_engine.models.fit import predict_fit
from mlx_engine.models.library.link_times import link_seconds, record_link
from mlx_engine.models.library.pass_times import PassTimes, RingLink
from mlx_engine.models.library.speeds import predict_speeds
from mlx_engine.models.ring_fit import divided
from mlx_engine.targets.sharding import shard
from tests.mlx_engine.models.test_fit import DENSE, GB, MAC
from tests.mlx_engine.models.test_speeds import BLOCK, EVEN, FOUR_BITS
from tests.mlx_engine.tiny_families import CONFIGS, build


class FirstOfTwo:
    """What `shard` asks MLX's group."""

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 2


def parts(family: str) -> tuple[int, int, mx.array]:
    """Return the bytes of a tiny model, those of a half, and the half."""
    model, family_names = build(family), family_of(CONFIGS[family])
    assert family_names is not None
    alone = sum(array.nbytes for _, array in tree_flatten(model.parameters()))
    shard(model, family_names.head, FirstOfTwo())
    return alone, sum(array.nbytes for _, array in tree_flatten(model.parameters())), model


@pytest.mark.parametrize("family", SHARDABLE)
def test_weights_and_exchanges_are_those_of_a_real_part(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exchanged: list[tuple[int, ...]] = []
    monkeypatch.setattr(mx.distributed, "all_sum", lambda x, group=None: (exchanged.append(x.shape), x)[1])
    config = CONFIGS[family]
    alone, half, model = parts(family)
    first, other = divided(predict_fit(config, None, alone, 0, 64, MAC, sees=False), config, alone, 2)
    predicted = next(line.bytes for line in first.lines if line.what == "Target weights")
    assert predicted == pytest.approx(half, rel=0.1)  # norms and gates, which are whole, are large in a tiny model
    assert other.needed == first.needed, "without a drafter"
    mx.eval(model(mx.array([[1, 2, 3]])))
    assert len(exchanged) == PassTimes(MAC, config, alone, 64, RingLink(2, 0.0)).exchanges


@given(st.integers(1, 40), st.sampled_from([2, 4, 8]), st.integers(1, 100_000))
def test_each_computer_needs_less_and_all_together_need_more(size: int, ranks: int, context: int) -> None:
    alone = predict_fit(DENSE, None, size * GB, 0, context, MAC, sees=False)
    first, other = divided(alone, DENSE, size * GB, ranks)
    assert first.needed < alone.needed and first.needed + (ranks - 1) * other.needed >= 0.999 * alone.needed
    assert divided(alone, DENSE, size * GB, 1)[0].needed == alone.needed


@given(st.floats(1e-6, 0.01), st.floats(1e-6, 0.01))
def test_a_slow_link_costs_plain_decoding_more_than_blocks(one: float, two: float) -> None:
    fast, slow = (
        predict_speeds(EVEN, FOUR_BITS, BLOCK, (5 * GB, GB), 1, link=RingLink(2, seconds)) for seconds in sorted((one, two))
    )
    assert 1 / slow["plain"].high - 1 / fast["plain"].high == pytest.approx(72 * abs(one - two))
    assert slow["chat"].gain and fast["chat"].gain and slow["chat"].gain[1] >= 0.999 * fast["chat"].gain[1]
    assert "72 times" in str(slow["plain"].reason)


def test_a_link_without_delay_halves_what_is_divided() -> None:
    alone, both = (predict_speeds(EVEN, FOUR_BITS, None, (5 * GB, 0), 1, link=link)["plain"] for link in (RingLink(), RingLink(2)))
    assert alone.high < both.high < 2 * alone.high, "the head and dispatches aren't divided"


def test_measured_links_are_kept_by_the_number_of_computers() -> None:
    record_link(2, 0.001)
    record_link(4, 0.002)
    record_link(2, 0.0005)
    assert (link_seconds(2), link_seconds(4), link_seconds(8)) == (0.0005, 0.002, None)
