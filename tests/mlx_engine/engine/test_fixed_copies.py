"""Replies whose copies have a fixed width, without drafts."""

from collections.abc import Sequence
from itertools import product

import pytest

from mlx_engine.contract.events import Round
from mlx_engine.contract.whole_replies import fold
from mlx_engine.drafters.lookup import Offer
from mlx_engine.engine import reply_stream
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device
from tests.mlx_engine.asking import events, failure, reply, tokens

PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)


class AlwaysCopying:
    """Has something to copy at every token."""

    def __init__(self, tokens: Sequence[int], most: int) -> None:
        self._most = most

    def add(self, tokens: Sequence[int]) -> None: ...

    def offer(self, drafts: Sequence[int] = ()) -> Offer:
        return Offer(self._most, 3)

    def propose(self, count: int) -> list[int]:
        return [5] * count


@pytest.mark.parametrize("on_gpu", [False, True])
def test_copies_can_have_a_fixed_width(tiny: Engine, monkeypatch: pytest.MonkeyPatch, on_gpu: bool) -> None:
    """Also beyond the block, and without a context."""
    plain = reply(tiny, tokens(PROMPT, mode="plain", max_tokens=40, ignore_eos=True)).tokens
    monkeypatch.setattr(reply_stream, "Lookup", AlwaysCopying)
    monkeypatch.setattr(device, "runs_beside_host", lambda: on_gpu)
    for width, reuse in product((1, 2, 7, 32), (False, True)):
        request = tokens(PROMPT, lookup_only=True, width=width, max_tokens=40, ignore_eos=True, reuse=reuse)
        seen = events(tiny, request)
        rounds = [event for event in seen if isinstance(event, Round)]
        assert {each.proposer for each in rounds} <= {"lookup"} and fold(seen).tokens == plain
        assert max([1, *(each.width for each in rounds)]) == width


def test_copies_are_no_wider_than_drafts_in_float32_on_a_gpu(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a width is asked for, as when kernels are compared."""
    asked: list[int] = []

    class Noted(AlwaysCopying):
        def __init__(self, tokens: Sequence[int], most: int) -> None:
            super().__init__(tokens, most)
            asked.append(most)

    monkeypatch.setattr(reply_stream, "Lookup", Noted)
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    reply(tiny, tokens(PROMPT, max_tokens=2, width=None))
    reply(tiny, tokens(PROMPT, max_tokens=2, lookup_only=True, width=32))
    assert asked == [tiny.pair.info.block_size - 1, 31]


@pytest.mark.parametrize("width", [0, 33])
def test_a_width_that_no_copy_has_is_refused(tiny: Engine, width: int) -> None:
    assert "from 1 to 32." in failure(tiny, tokens(PROMPT, lookup_only=True, width=width))
