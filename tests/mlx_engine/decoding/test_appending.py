"""Copies behind a drafter's block: where they are verified, what is learned from them, and what they yield."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.costs import CostTable, PassCosts, PassKind, PassLoad
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.scheduler import decode
from mlx_engine.decoding.width import AutomaticWidth, PassOutcome, WidthChoice
from mlx_engine.drafters.lookup import Lookup, Offer
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.decoding.streams import SometimesWrong, prefilled
from tests.mlx_engine.decoding.test_plain_text import Foresight

FLAT = CostTable((0,), (1, 32), (1.0,), ((1.0, 1.2),), ((0.3, 0.3),))
STEEP = CostTable((0,), (1, 8, 32), (1.0,), ((1.0, 1.1, 20.0),), ((0.1, 0.1, 0.1),))
CHEAP = CostTable((0,), (1, 8, 32), (1.0,), ((1.0, 1.1, 1.7),), ((0.2, 0.2, 0.2),))
SHORT = Offer(31, 3)


def record(controller: AutomaticWidth, kind: PassKind, accepted: int, match: int = 12) -> None:
    choice = WidthChoice(kind, appends=kind.proposer == "drafter", match=match)
    controller.record(PassOutcome(choice, 100, None, min(accepted + 1, kind.width - 1), accepted))


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
        if (choice := controller.choose(100, SHORT)).appends and not choice.trial:
            record(controller, choice.kind, 3, SHORT.match)
        else:
            break
    else:
        pytest.fail("rounds still wait for copies after 60 without any")


def drafted(chance: float, tokens: int = 150, seed: int = 0) -> list[bool]:
    """Return for each token of a text whether the drafter has it."""
    draw = random.Random(seed)
    return [draw.random() < chance for _ in range(tokens)]


def decoded(
    controller: AutomaticWidth, table: CostTable, text: list[bool], offer: Offer | None, copied: str = "", slow: float = 1.0
) -> Iterator[PassOutcome]:
    """Simulate the passes over a text.

    Args:
        text: for each token, whether the drafter has it.
        offer: what can be copied at each token.
        copied: which copies are right: "" for none, "behind" for those behind a block, or "all".
        slow: factor of the time of passes with copies.
    """
    at = 0
    while at < len(text):
        choice, accepted = controller.choose(100, offer), 0
        if choice.appends and offer:
            choice = controller.extend(choice, 100, Offer(31, min(offer.match + 7, 32)))
        kind = choice.kind
        while accepted < kind.block - 1 and (at + accepted >= len(text) or text[at + accepted]):
            accepted += 1
        if (kind.proposer == "lookup" and copied == "all") or (kind.copied and copied and accepted == kind.block - 1):
            accepted = kind.width - 1
        seconds = table.seconds(kind, 100) * (slow if has_copies(choice) else 1.0)
        controller.record(outcome := PassOutcome(choice, 100, seconds, min(accepted + 1, kind.width - 1), accepted))
        at += accepted + 1
        yield outcome


def has_copies(choice: WidthChoice) -> bool:
    return choice.kind.copied > 0 or choice.kind.proposer == "lookup"


@sampled(10)
@given(
    failed=st.integers(0, 600),
    match=st.sampled_from([3, 8, 16, 32]),
    chance=st.sampled_from([0.3, 0.8, 1.0]),
    copied=st.sampled_from(["behind", "all"]),
)
def test_copies_are_used_again_when_they_are_right_again(failed, match, chance, copied):
    """In the same band, however long they had failed."""
    history, offer = PairHistory(8, CHEAP), Offer(31, match)
    for _ in decoded(AutomaticWidth(history), CHEAP, drafted(chance, failed), offer):
        pass
    found = [*decoded(AutomaticWidth(history), CHEAP, drafted(1.0, 4000), offer, copied)]
    assert all(has_copies(each.choice) for each in found[-50:])


@sampled(10)
@given(match=st.sampled_from([3, 8, 16, 32]), chance=st.sampled_from([0.0, 0.8, 1.0]), table=st.sampled_from([FLAT, CHEAP, STEEP]))
def test_copies_that_are_never_right_cost_little(match, chance, table):
    """After the first replies, which find out. Where rounds hardly beat plain steps, more depends on which of them are chosen."""
    times = []
    for offer in (Offer(31, match), None):
        history = PairHistory(8, table)
        replies = [[*decoded(AutomaticWidth(history), table, drafted(chance, seed=i), offer)] for i in range(10)]
        times.append(sum(each.seconds or 0.0 for said in replies[2:] for each in said))
    with_copies, without = times
    assert with_copies <= 1.03 * without  # 0.5% for trials, and blocks that begin at other tokens


@sampled(5)
@given(times=st.integers(1, 4), slow=st.floats(1.5, 1000.0))
def test_copies_are_used_again_after_slow_ones(times, slow):
    """As while another program runs, or kernels are compiled. A kind that isn't timed again would stay dear."""
    table = CostTable((0,), (1, 8, 16, 32), (1.0,), ((1.0, 1.1, 1.3, 2.2),), ((0.1, 0.1, 0.1, 0.1),))
    history, offer, seen = PairHistory(8, table), Offer(31, 32), 0
    for _ in decoded(AutomaticWidth(history), table, drafted(0.97, 600), None):
        pass
    for each in decoded(AutomaticWidth(history), table, drafted(1.0, 1000), offer, "behind", slow):
        if (seen := seen + has_copies(each.choice)) == times:
            break
    found = [*decoded(AutomaticWidth(history), table, drafted(0.99, 4000), offer, "behind")]
    assert sum(each.choice.kind.copied > 0 for each in found[-100:]) > 50


@given(block=st.integers(2, 8), accepted=st.integers(0, 7))
def test_a_block_that_the_end_of_the_reply_cuts_short_says_nothing_about_copies(block, accepted):
    """It may have been right if it had been whole."""
    history = PairHistory(8, FLAT)
    choice = WidthChoice(PassKind("drafter", 8 + 16, 16), appends=True, match=16)
    before = history.band(0).copies.blocks()
    AutomaticWidth(history).record(PassOutcome(choice, 100, None, min(accepted, block - 1), min(accepted, block - 1)))
    assert (history.band(0).copies.blocks() == before) == (min(accepted, block - 1) < 7)


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


@pytest.mark.parametrize("temperature", [pytest.param(0.0, marks=pytest.mark.long), 0.8])
@pytest.mark.parametrize(
    ("earlier", "errors", "gain"),
    [("changed at each pass", 0, 2.0), pytest.param("changed anywhere", 3, 1.1, marks=pytest.mark.long)],
)
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
