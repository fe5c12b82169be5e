"""Widths of streams that share passes, on simulated machines: never slower than turns or plain passes."""

import random
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.acceptance import tokens_by_width
from mlx_engine.decoding.costs import ASSUMED, LADDER, NOTHING, PLAIN_STEP, CostTable, PassCosts, PassKind, PassLoad
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.shared_widths import Sharer, share_rows, share_widths
from mlx_engine.decoding.width import ALONE, AutomaticWidth, Company, FixedWidth, PassOutcome
from tests.benchmarks.simulation import MACHINES
from tests.examples import sampled
from tests.mlx_engine.calibration.simulated_mac import CHIPS, Chip

WIDTHS = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32)


def chip_table(chip: Chip, draft: float) -> CostTable:
    """Return the costs of Qwen3-8B in 4 bits with the faster of MLX and the kernels, in milliseconds; `draft` per block.

    Beyond 16 rows, MLX pads to 32.
    """

    def verify(rows: int, depth: int) -> float:
        costs = (chip.matmul, chip.attention[depth])
        found = [min(each[min(n for n in each if n >= min(rows, 16))]) for each in costs]
        if rows > 16:
            found = [max(own, each[16][0]) for own, each in zip(found, costs, strict=True)]
        return chip.other - draft + sum(found)

    depths = tuple(chip.attention)
    plain = tuple(chip.matmul[min(chip.matmul)][0] * 0.92 + chip.other - draft + min(chip.attention[d][8]) for d in depths)
    rows = tuple(tuple(verify(width, depth) for width in WIDTHS) for depth in depths)
    return CostTable(depths, WIDTHS, plain, rows, (tuple(draft + 0.03 * draft * (w - 2) / 14 for w in WIDTHS),) * len(depths))


# The demo pair on two cores, in plain steps: verify and draft by rows
DEMO = CostTable(
    (0,), (2, 4, 8, 16, 32), (1.0,), ((1.11, 1.42, 1.91, 2.9, 5.1),), ((0.27, 0.33, 0.4, 0.6, 1.0),)
)  # fmt: skip
TABLES = {
    "the demo pair on two cores": DEMO,
    **{f"{name}, 8B 4-bit": chip_table(CHIPS[name], draft) for name, draft in (("M1", 6.0), ("M4 Max", 2.0), ("M5 Max", 1.7))},
    **{each.name: each.table for each in MACHINES if each.name in ("M1 Max, 27B 8-bit", "M5 Max, 27B 4-bit", "M5 Max, 4B bf16")},
}
BLOCK = 16
KINDS = [PLAIN_STEP, *(PassKind("drafter", width) for width in LADDER[1:])]


def turns(table: CostTable, chances: list[float], depth: int) -> float:
    """Return tokens per second if streams take turns, each with its fastest width."""
    seconds = tokens = 0.0
    for chance in chances:
        each = tokens_by_width([chance] * (BLOCK - 1))
        best = min(KINDS, key=lambda kind: table.seconds(kind, depth) / each[kind.width - 1])
        seconds, tokens = seconds + table.seconds(best, depth), tokens + each[best.width - 1]
    return tokens / seconds


def plain(table: CostTable, count: int, depth: int) -> float:
    """Return tokens per second of passes with a plain step of each stream."""
    return count / table.shared_seconds(PassLoad(count, 0, count, count * depth))


@pytest.mark.parametrize("name", TABLES)
@given(chances=st.lists(st.floats(0.0, 0.98), min_size=2, max_size=16), depth=st.integers(0, 8000))
def test_with_known_costs_streams_are_never_slower_than_in_turns_or_plain(name, chances, depth):
    table = TABLES[name]
    offers = []
    for chance in chances:
        tokens = tokens_by_width([chance] * (BLOCK - 1))
        offers.append([(kind, tokens[kind.width - 1]) for kind in KINDS])
    load, tokens = share_rows([Sharer(depth, own) for own in offers], table.shared_seconds)
    rate = tokens / table.shared_seconds(load)
    assert rate >= plain(table, len(chances), depth) * (1 - 1e-9)
    assert rate >= turns(table, chances, depth) * 0.995


@sampled(20)
@given(data=st.data(), count=st.integers(1, 3), seed=st.integers(0, 1 << 20))
def test_no_other_widths_yield_more(data, count, seed):
    """With convex costs, and steps of one row."""
    draw = random.Random(seed)
    curve = [1.0]
    for _ in range(3 * 5):
        curve.append(curve[-1] + draw.uniform(0, 1))
    per_row = sorted(draw.uniform(0.05, 0.6) for _ in range(20))
    base = draw.uniform(0.3, 2.0)

    def seconds(load: PassLoad) -> float:
        return base + sum(per_row[: load.rows])

    chances = [[data.draw(st.floats(0, 1)) for _ in range(4)] for _ in range(count)]
    offers = [list(zip((PassKind("lookup", w) for w in range(1, 6)), tokens_by_width(own), strict=True)) for own in chances]
    load, tokens = share_rows([Sharer(0, own) for own in offers], seconds)
    rates = []
    for each in product(range(5), repeat=count):
        rows = sum(offers[i][at][0].width for i, at in enumerate(each))
        rates.append(sum(offers[i][at][1] for i, at in enumerate(each)) / seconds(PassLoad(rows)))
    assert tokens / seconds(load) == pytest.approx(max(rates))


def simulate(
    table: CostTable, start: CostTable, chances: list[float], seed: int, passes: int, slower: float = 1.0
) -> list[tuple[float, int]]:
    """Return the seconds and tokens of each shared pass, with the widths that the controllers choose.

    Args:
        table: what passes cost.
        start: what the controllers assume.
        chances: of each stream's drafts.
        slower: factor on the time of shared passes, which no table has.
    """
    draw, history, outcomes = random.Random(seed), PairHistory(BLOCK, start), []
    controllers = [AutomaticWidth(history) for _ in chances]
    for _ in range(passes):
        share_widths([(each, 100, False) for each in controllers])
        found, load, tokens = [], NOTHING, 0
        for controller, chance in zip(controllers, chances, strict=True):
            choice, accepted = controller.choose(100), 0
            while accepted < choice.kind.width - 1 and draw.random() < chance:
                accepted += 1
            load, tokens = load.plus(PassLoad.of(choice.kind, 100)), tokens + accepted + 1
            found.append(PassOutcome(choice, 100, None, min(accepted + 1, choice.kind.width - 1), accepted))
        seconds = slower * table.shared_seconds(load) * draw.lognormvariate(0.0, 0.05)
        controllers[0].record_shared(load, seconds)
        for controller, outcome in zip(controllers, found, strict=True):
            controller.record(outcome)
        outcomes.append((seconds, tokens))
    return outcomes


def simulate_often(table: CostTable, chances: list[float], seed: int, slower: float) -> list[tuple[float, int]]:
    """Return the passes after the 50th of three simulations, because single replies can be unlucky in their first trials."""
    return [each for own in range(3) for each in simulate(table, table, chances, 3 * seed + own, 150, slower)[50:]]


def rate(outcomes: list[tuple[float, int]]) -> float:
    seconds, tokens = zip(*outcomes, strict=True)
    return sum(tokens) / sum(seconds)


@pytest.mark.parametrize("name", TABLES)
@sampled(1, 20)
@given(
    chances=st.lists(st.sampled_from([0.02, 0.3, 0.6, 0.8, 0.95]), min_size=2, max_size=8),
    slower=st.sampled_from([1.0, 1.4]),
    seed=st.integers(0, 1 << 20),
)
def test_controllers_find_widths_that_are_not_slower(name, chances, slower, seed):
    """With calibrated costs, although trials cost time, and acceptance must be learned."""
    table = TABLES[name]
    found = rate(simulate_often(table, chances, seed, slower))
    assert found >= 0.95 * max(plain(table, len(chances), 100) / slower, turns(table, chances, 100) / slower)


@pytest.mark.parametrize("chances", [[0.02, 0.95], [0.95, 0.02], [0.02, 0.02, 0.95]])
def test_replies_whose_drafts_are_rejected_do_not_slow_down_others(chances):
    """The hopeless reply's acceptance replaced the other's after each success, so that both ran plain steps."""
    assert rate(simulate_often(DEMO, chances, 1, 1.0)) >= 1.05 * turns(DEMO, chances, 100)


@pytest.mark.parametrize("name", TABLES)
@sampled(1, 30)
@given(
    chances=st.lists(st.sampled_from([0.02, 0.3, 0.6, 0.8, 0.95]), min_size=2, max_size=8),
    seed=st.integers(0, 1 << 20),
)
def test_costs_of_shared_passes_are_learned(name, chances, seed):
    """From a table that is wrong, in arbitrary units."""
    table = TABLES[name]
    outcomes = simulate(table, ASSUMED, chances, seed, 150)
    assert rate(outcomes[75:]) >= 0.9 * plain(table, len(chances), 100)


@pytest.mark.parametrize("chances", [[0.8, 0.6], [0.6, 0.6], [0.95, 0.02]])
def test_plain_steps_are_timed_before_streams_draft_together_for_long(chances):
    """On a machine where rows cost more than assumed, streams drafted together at 0.6 to 0.7 of the speed of plain steps."""
    table = TABLES["M1 Max, 27B 8-bit"]
    assert min(rate(simulate(table, ASSUMED, chances, seed, 150)[75:]) for seed in range(4)) >= 0.9 * plain(table, 2, 100)


@given(factor=st.floats(0.3, 3.0), rows=st.sampled_from([2, 3, 5, 8, 13, 24, 40, 100]), seed=st.integers(0, 99))
def test_a_shared_pass_that_costs_more_is_noticed(factor, rows, seed):
    costs, draw = PassCosts(DEMO, BLOCK), random.Random(seed)
    load = PassLoad(rows, rows, 2, 200)
    before = [costs.seconds(kind, 100) for kind in costs.kinds]
    for _ in range(40):
        costs.record_shared(load, factor * DEMO.shared_seconds(load) * draw.lognormvariate(0, 0.05))
    assert costs.shared_seconds(load) == pytest.approx(factor * DEMO.shared_seconds(load), rel=0.25)
    after = [costs.seconds(kind, 100) for kind in costs.kinds]
    changes = [(new - old) * (factor - 1) >= 0 for new, old in zip(after, before, strict=True)]
    assert all(changes) or 0.95 < factor < 1.05, "all passes change alike, unless the change is less than the times scatter"


def test_widths_shrink_with_the_number_of_streams_down_to_plain_steps():
    table, widest = TABLES["M4 Max, 8B 4-bit"], []
    tokens = tokens_by_width([0.7] * (BLOCK - 1))
    offers = [(kind, tokens[kind.width - 1]) for kind in KINDS]
    for count in (1, 2, 4, 8, 16, 32):
        sharers = [Sharer(100, offers) for _ in range(count)]
        share_rows(sharers, table.shared_seconds)
        widest.append(max(sharer.load.rows for sharer in sharers))
    assert widest == sorted(widest, reverse=True) and widest[0] > 4 and widest[-1] == 1


def test_rows_go_where_they_are_worth_most():
    table = TABLES["M4 Max, 8B 4-bit"]
    sharers = [Sharer(100, [(kind, tokens_by_width([c] * 15)[kind.width - 1]) for kind in KINDS]) for c in (0.3, 0.9, 0.6)]
    share_rows(sharers, table.shared_seconds)
    low, high, middle = (sharer.load.rows for sharer in sharers)
    assert low <= middle <= high and high > low


def test_a_stream_without_others_is_alone_again():
    history = PairHistory(BLOCK, DEMO)
    two = [AutomaticWidth(history), FixedWidth(1)]
    share_widths([(each, 10, False) for each in two])
    assert two[0].company.load == PassLoad(1, 0, 1, 10) and two[1].company.load.streams == 1
    assert two[0].company.tokens == pytest.approx(1.0), "the other's, not its own"
    share_widths([(two[0], 10, False)])
    assert two[0].company == ALONE


def test_a_reply_that_a_user_waits_for_is_as_wide_as_alone():
    table = TABLES["M4 Max, 8B 4-bit"]
    history = PairHistory(BLOCK, table)
    alone = AutomaticWidth(history).choose(100)
    three = [AutomaticWidth(history) for _ in range(8)]
    share_widths([(each, 100, each is three[0]) for each in three])
    assert three[0].choose(100).kind == alone.kind and three[1].choose(100).kind.width < alone.kind.width
    assert three[1].company.load.rows >= alone.kind.width


@given(chances=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8))
def test_drafts_of_whole_blocks_are_expected_if_confidence_narrows_rounds(chances):
    controllers = [AutomaticWidth(PairHistory(BLOCK, DEMO, confident=True)) for _ in chances]
    share_widths([(each, 100, False) for each in controllers])
    for controller in controllers:
        company = controller.company
        assert company.own is not None and company.load.drafted % BLOCK == 0
        both = company.load.plus(PassLoad.of(company.own, 100, BLOCK))
        costs = PassCosts(DEMO, BLOCK, drafts_blocks=True)
        assert costs.seconds(company.own, 100, company.load) == costs.shared_seconds(both)


@given(trial=st.booleans(), accepted=st.integers(0, 3), others=st.integers(1, 40), tokens=st.floats(0.5, 9.0))
def test_a_pass_is_judged_by_the_company_that_it_had(trial, accepted, others, tokens):
    """It may be read after the company of the next one is known."""
    company, credits = Company(PassLoad(others, others, 1, 100), tokens, PassKind("drafter", 4)), []
    for later in (company, ALONE):
        history = PairHistory(BLOCK, DEMO)
        controller = AutomaticWidth(history)
        controller.company = company
        choice = replace(controller.choose(100), trial=trial)
        controller.company = later
        controller.choose(100)
        controller.record(PassOutcome(choice, 100, None, min(accepted + 1, 3), accepted))
        credits.append(history.band(0.0).credit)
    assert credits[0] == credits[1]


@pytest.mark.parametrize("confident", [False, True])
@given(most=st.integers(8, 200), count=st.integers(2, 8))
def test_no_more_rows_are_planned_or_drafted_than_fit_into_a_pass(confident, most, count):
    flat = CostTable((0,), (2, 32), (1.0,), ((1.0, 1.0),), ((0.1, 0.1),))
    controllers = [AutomaticWidth(PairHistory(BLOCK, flat, confident)) for _ in range(count)]
    share_widths([(each, 100, False) for each in controllers], most)
    company = controllers[0].company
    assert company.own is not None
    load = company.load.plus(PassLoad.of(company.own, 100, controllers[0].drafted))
    assert max(load.rows, load.drafted) <= most
