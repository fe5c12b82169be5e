"""Whether another stream is expected to gain, from measured rates."""

from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.stream_gain import StreamGain


def measured(rates: dict[int, float], steps: int = 40) -> StreamGain:
    gain = StreamGain()
    for streams, rate in rates.items():
        for _ in range(steps):
            gain.record(streams, 2, 2 / rate)
    return gain


@given(rates=st.lists(st.floats(1.0, 1000.0), min_size=1, max_size=8))
def test_more_streams_are_expected_to_gain_if_they_did_or_are_unknown(rates):
    gain = measured(dict(enumerate(rates, 1)))
    for streams in range(1, len(rates)):
        now, more = rates[streams - 1], rates[streams]
        if abs(now - more) > 1e-6 * now:
            assert gain.expected(streams) == (more > now)
    assert gain.expected(len(rates)) and gain.expected(len(rates) + 1)


def test_the_next_known_number_decides():
    gain = measured({4: 100.0, 7: 80.0, 8: 200.0})
    assert not gain.expected(4) and gain.expected(7) and gain.expected(5)


def test_a_few_steps_say_nothing():
    assert measured({4: 100.0, 5: 50.0}, steps=20).expected(4)


def test_a_loss_is_forgotten_after_a_while():
    gain = measured({4: 100.0, 5: 50.0})
    assert not gain.expected(4)
    for _ in range(2000):
        gain.record(4, 2, 0.02)
    assert gain.expected(4)
