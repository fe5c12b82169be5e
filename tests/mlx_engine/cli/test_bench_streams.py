"""`slipstream bench --streams`: what is measured, the report, and texts that differ."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli import bench_streams
from mlx_engine.cli.bench_prompts import PROMPTS
from mlx_engine.cli.bench_streams import Measured, StreamGroup, StreamPlan, measure, play, summarize
from mlx_engine.cli.main import main
from mlx_engine.contract.client import Deliver, EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Event, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Request
from mlx_engine.engine.host import EngineHost
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats


class Playing(EngineClient):
    """Delivers tokens in a given order, with a second between them, once all replies are requested."""

    def __init__(self, order: list[int]) -> None:
        self._order, self._delivers, self.now = order, list[Deliver](), 0.0

    def submit(self, request: Request, deliver: Deliver) -> Run:
        self._delivers.append(deliver)
        if len(self._delivers) == len(set(self._order)):
            for at in self._order:
                self.now += 1.0
                self._delivers[at](Commit("a", "answer", (at,), ("target",)))
            for deliver_one in self._delivers:
                deliver_one(Finished("length", stats("plain")))
                deliver_one(None)
        return Run(request, deliver)


class Together(ScriptedEngine):
    """Begins the replies of a group when all of them have been submitted."""

    submitted = expected = 0

    def steps(self, *args: Any) -> Iterator[Sequence[Event]]:
        Together.submitted += 1
        for _ in range(10**5):
            if Together.submitted >= Together.expected:
                break
            yield []
        yield from super().steps(*args)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    def expect(client: EngineClient, requests: Sequence[GenerationRequest]) -> StreamGroup:
        Together.submitted, Together.expected = 0, len(requests)
        return play(client, requests)

    monkeypatch.setattr(bench_streams, "play", expect)


@given(count=st.integers(1, 4), data=st.data())
def test_only_the_time_in_which_all_replies_are_written_counts(count, data):
    order = [*range(count), *data.draw(st.lists(st.integers(0, count - 1), max_size=30))]
    data.draw(st.randoms(use_true_random=False)).shuffle(order)
    client = Playing(order)
    group = play(client, [GenerationRequest(prompt_tokens=(1,))] * count, lambda: client.now)
    places = [[at for at, name in enumerate(order) if name == each] for each in range(count)]
    start, end = max(mine[0] for mine in places), min(mine[-1] for mine in places)
    assert group.counts == tuple(sum(start < at <= end for at in mine) for mine in places)
    assert group.seconds == max(end - start, 0) and group.commits == min(group.counts)
    assert group.together == max(sum(mine[0] <= at <= mine[-1] for mine in places) for at in range(len(order)))
    assert [len(text) for text in group.texts] == [len(mine) for mine in places]


@pytest.mark.usefixtures("together")
def test_the_report_has_rates_ratios_and_equal_texts(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--streams", "2,4", "--runs", "2", "--cool-down", "0"]
    assert main(["bench", "--json", *options], Together) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report["prompts"] == 4 and report["runs"] == 2
    assert {mode: list(sides) for mode, sides in report["streams"].items()} == {"plain": ["1", "2", "4"], "dflash": ["1", "2", "4"]}
    for sides in report["streams"].values():
        for count, side in sides.items():
            assert (side["equal"], side["compared"]) == (8, 8) and len(side["runs_tok_s"]) == 2
            assert side["each_tok_s"] * int(count) == pytest.approx(side["tok_s"])
    assert main(["bench", *options], Together) == 0
    assert "DFlash, 4" in capsys.readouterr().out


@pytest.mark.usefixtures("together")
@pytest.mark.parametrize("length", [4, 60])
def test_the_report_says_if_replies_are_too_short_to_measure(capsys: pytest.CaptureFixture[str], length: int) -> None:
    def engine() -> Together:
        return Together(pieces=(("answer", "a"),) * length)

    options = ["bench", "--streams", "1,2", "--runs", "1"]
    assert main([*options, "--json"], engine) == 0
    found = json.loads(capsys.readouterr().out)["streams"]
    fewest = min(side["fewest_commits"] for sides in found.values() for side in sides.values())
    assert 0 < fewest < length and found["plain"]["1"]["fewest_commits"] == length - 1
    assert main(options, engine) == 0
    assert ("Too short: only" in capsys.readouterr().out) == (length == 4)


@pytest.mark.usefixtures("together")
def test_eight_replies_are_measured_together_even_if_they_are_slower(capsys: pytest.CaptureFixture[str]) -> None:
    class Declining(Together):
        def gains(self, running: int) -> bool:
            return False

    options = ["--streams", "8", "--runs", "1", "--limit", "8", "--json"]
    assert main(["bench", *options], Declining) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert all(sides["8"]["tok_s"] > 0 for sides in report["streams"].values())


def test_a_text_that_differs_from_the_text_alone_is_counted() -> None:
    class Confused(ScriptedEngine):
        """Says something else in the last of four replies."""

        def generate(self, request, cancel=None):
            for event in super().generate(request, cancel):
                if isinstance(event, Commit) and request.messages == PROMPTS[3].messages and self.together:
                    event = Commit(event.text, event.channel, (99,), event.sources)
                yield event

        together = False

    engine = Confused()
    host = EngineHost(lambda: engine)  # type: ignore[arg-type, return-value]
    alone = measure(host, StreamPlan((1,), PROMPTS[:4], 1, 9))
    engine.together = True
    four = measure(host, StreamPlan((4,), PROMPTS[:4], 1, 9))
    assert alone is not None and four is not None
    found = summarize(alone | four)["streams"]
    assert all((sides["4"]["equal"], sides["4"]["compared"]) == (3, 4) for sides in found.values())


def test_a_failed_reply_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--streams", "2", "--runs", "1"], lambda: ScriptedEngine(fails="It failed.")) == 1
    assert "It failed." in capsys.readouterr().err


def test_ctrl_c_stops_all_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Run] = []

    class Endless(EngineClient):
        def submit(self, request: Request, deliver: Deliver) -> Run:
            runs.append(Run(request, deliver))
            return runs[-1]

    def interrupted(self: Any, seconds: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_streams.threading.Event, "wait", interrupted)
    assert measure(Endless(), StreamPlan((1, 2), PROMPTS[:2], 1, 9)) is None
    assert runs and all(run.cancelled.is_set() for run in runs)


def test_failures_end_the_others() -> None:
    runs: list[Run] = []

    class Failing(EngineClient):
        """The first reply never ends, and the second fails."""

        def submit(self, request: Request, deliver: Deliver) -> Run:
            runs.append(Run(request, deliver))
            if len(runs) > 1:
                deliver(Failed("code", "It failed."))
                deliver(None)
            return runs[-1]

    with pytest.raises(Exception, match="It failed"):
        play(Failing(), [GenerationRequest(prompt_tokens=(1,))] * 2)
    assert all(run.cancelled.is_set() for run in runs)


def test_replies_without_token_ids_are_an_error() -> None:
    class Silent(EngineClient):
        def submit(self, request: Request, deliver: Deliver) -> Run:
            for event in (Commit("a", "answer", (), ()), Finished("length", stats("plain")), None):
                deliver(event)
            return Run(request, deliver)

    with pytest.raises(UserError, match="token IDs"):
        play(Silent(), [GenerationRequest(prompt_tokens=(1,))])


def test_replies_that_are_written_one_after_the_other_are_an_error() -> None:
    host = EngineHost(ScriptedEngine, max_active=1)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="Only 1 of 2 replies"):
        measure(host, StreamPlan((2,), PROMPTS[:2], 1, 9))
    assert host.wait(60)


def test_a_ratio_compares_the_same_prompts() -> None:
    """Of eight prompts, five are answered together. The other three are slower."""

    def group(count: int, seconds: float) -> StreamGroup:
        return StreamGroup((10,) * count, seconds, ((1,),) * count, (stats("plain"),) * count)

    alone = [group(1, 1.0 if at < 5 else 100.0) for at in range(8)]
    sides: Measured = {}
    for mode in ("plain", "dflash"):
        sides[mode, 1], sides[mode, 5] = [alone], [[group(5, 2.5)]]
    assert summarize(sides)["streams"]["plain"]["5"]["ratio"] == pytest.approx(2.0)
