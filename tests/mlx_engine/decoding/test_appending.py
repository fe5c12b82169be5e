"""Copies behind a drafter's block: where they are verified, what is learned from them, and what they yield."""

import random
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.costs import CostTable, PassCosts, PassKind, PassLoad
from mlx_engine.decoding.scheduler import decode
from mlx_engine.decoding.width import AutomaticWidth, PairHistory, PassOutcome, WidthChoice
from mlx_engine.drafters.lookup import Lookup, Offer
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.decoding.streams import SometimesWrong, prefilled
from tests.mlx_engine.decoding.test_plain_text import Foresight

FLAT = CostTable((0,), (1, 32), (1.0,), ((1.0, 1.2),), ((0.3, 0.3),))
STEEP = CostTable((0,), (1, 8, 32), (1.0,), ((1.0, 1.1, 20.0),), ((0.1, 0.1, 0.1),))
SHORT = Offer(31, 3)


def record(controller: AutomaticWidth, kind: PassKind, accepted: int, match: int = 12) -> None:
    choice = WidthChoice(kind, appends=kind.proposer == "drafter")
    controller.record(PassOutcome(choice, 100, None, min(accepted + 1, kind.width - 1), accepted, match))


def test_copies_are_appended_where_rows_are_cheap():
    controller = AutomaticWidth(PairHistory(8, FLAT))
    choice = controller.choose(100, SHORT)
    assert choice.kind == PassKind("drafter", 8) and choice.appends
    assert controller.extend(choice, 100, Offer(31, 24)).kind == PassKind("drafter", 32, 24)
    assert controller.extend(choice, 100, Offer(15, 24)).kind == PassKind("drafter", 16, 8)  # with at most 15 drafts


def test_copies_are_not_appended_where_rows_cost_more_than_they_yield():
    controller = AutomaticWidth(PairHistory(8, STEEP))
    for match in (3, 12, 32):
        choice = controller.choose(100, Offer(31, match))
        assert not choice.appends
        assert controller.extend(replace(choice, kind=PassKind("drafter", 8)), 100, Offer(31, match)).kind.copied == 0


def test_no_copies_are_appended_without_a_match():
    controller = AutomaticWidth(PairHistory(8, FLAT))
    assert not controller.choose(100).appends and not controller.choose(100, Offer(31, 2)).appends


def test_blocks_that_no_copies_follow_end_appending():
    controller = AutomaticWidth(PairHistory(8, FLAT))
    for _ in range(60):
        if (choice := controller.choose(100, SHORT)).appends:
            record(controller, choice.kind, 3)
        else:
            break
    else:
        pytest.fail("rounds still wait for copies after 60 without any")


@given(accepted=st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_drafts_and_copies_are_learned_apart(accepted):
    """As if the block, and the copies behind one that was accepted, had been verified alone."""
    both, drafts, copies = (PairHistory(8, FLAT) for _ in range(3))
    controllers = [AutomaticWidth(each) for each in (both, drafts, copies)]
    for count in accepted:
        record(controllers[0], PassKind("drafter", 32, 24), count)
        record(controllers[1], PassKind("drafter", 8), min(count, 7))
        if count >= 7:
            record(controllers[2], PassKind("lookup", 32), count - 7)
    assert controllers[0].offers() == controllers[1].offers()
    assert both.band(0).copies.tokens(12) == copies.band(0).copies.tokens(12)


def test_a_round_costs_its_rows_and_its_block():
    kind = PassKind("drafter", 24, 16)
    table = CostTable((0,), (8, 24), (1.0,), ((2.0, 5.0),), ((0.25, 9.0),))
    assert kind.block == 8 and table.seconds(kind, 0) == 5.25
    assert PassLoad.of(kind, 70) == PassLoad(24, 8, 1, 70)
    costs = PassCosts(table, 8)
    for _ in range(20):
        costs.record(kind, 0, 11.0)
    assert costs.seconds(kind, 0) == pytest.approx(11.0, rel=0.1)


class AfterChanges(SometimesWrong):
    """Copies of a text that has a change at the end of each pass: right behind drafts, wrong without."""

    def offer(self, drafts: Sequence[int] = ()) -> Offer | None:
        super().offer(drafts)
        return Offer(31, 3 + len(drafts))

    def propose(self, count: int) -> list[int]:
        return super().propose(count) if self.behind else [5] * count


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(("earlier", "errors", "gain"), [("changed at each pass", 0, 2.0), ("changed anywhere", 3, 1.1)])
def test_both_yield_more_tokens_per_pass_than_either(tiny, temperature, earlier, errors, gain):
    prompt, limit, draw = (73, 119, 51, 37), 400, random.Random(1)
    asked = tokens(prompt, temperature, seed=5, max_tokens=limit, mode="plain", ignore_eos=True)
    plain = reply(tiny, asked).tokens
    pair = SimpleNamespace(target=tiny.pair.target, drafter=Foresight(tiny.pair.drafter, [*prompt, *plain], errors))
    changed = [token if draw.random() < 0.95 else 5 for token in plain]
    yields = {}
    for name, lookup_only, copies in (("drafter", False, False), ("copies", True, True), ("both", False, True)):
        lookup = AfterChanges(plain, [31]) if errors == 0 else Lookup([*changed, *prompt], 31)
        options = {"copies": lookup if copies else None, "clock": lambda: 0.0}
        controller = AutomaticWidth(PairHistory(8, FLAT), lookup_only, temperature)
        stream = prefilled(pair, prompt, controller, limit, asked.sampling, 5, **options)
        steps = list(decode(stream, pair.target))
        assert tuple(token for step in steps for token in step.tokens) == plain
        yields[name] = limit / len(steps)
    assert yields["both"] > gain * max(yields["drafter"], yields["copies"]), yields
