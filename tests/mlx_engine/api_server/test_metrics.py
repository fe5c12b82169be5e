"""`GET /metrics`, live requests, and the log's lines."""

import json
import logging
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.api_server import exchanges
from mlx_engine.api_server.metrics import LiveRequest, Metrics
from mlx_engine.contract.events import Commit, Event, Failed, Finished, PrefillProgress, Queued, Round, Stats
from mlx_engine.contract.requests import GenerationRequest
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

PATH = "/v1/chat/completions"
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
_SAMPLE = re.compile(r'(slipstream_[a-z_]+)((?:\{(?:[a-z]+="[^"\\\n]*",?)+\})?) (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)')


def scraped(server: Serving) -> dict[str, float]:
    """Return all samples, after checking each line against Prometheus's text format."""
    response = server.client.get("/metrics")
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert response.text.endswith("\n")
    samples: dict[str, float] = {}
    name = kind = ""
    for line in response.text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert len(line.split()) > 3 and not any(each.startswith(name + "{") or each == name for each in samples)
        elif line.startswith("# TYPE "):
            _, _, typed, kind = line.split()
            assert typed == name and kind in ("counter", "gauge") and name.endswith("_total") == (kind == "counter")
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None and found[1] == name and found[1] + found[2] not in samples, line
            samples[found[1] + found[2]] = float(found[3])
    return samples


class Scripted(ScriptedEngine):
    """Replies with the given statistics, each once."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Stats] = []

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        if not self.coming:
            yield Failed("no_stats", "It failed.")
            return
        yield Commit("x", "answer", (1,), ("drafter",))
        yield Finished("length", self.coming.pop(0))


_rounds = st.lists(st.integers(0, 7), max_size=5)
_stats = st.builds(
    lambda prompt, reused, tokens, rounds, peak: replace(
        stats("dflash", tokens),
        prompt_tokens=prompt + reused,
        reused_tokens=reused,
        disk_tokens=reused // 2,
        images=reused,
        image_tokens=9 * reused,
        image_s=float(reused),
        snapshot_bytes=3 * peak,
        rounds=len(rounds),
        drafted=7 * len(rounds),
        accepted=sum(rounds),
        accepted_per_round=tuple(rounds),
        peak_memory_bytes=peak,
        passes=tokens / 4,
        own_passes=tokens,
        rows=2 * tokens,
    ),
    *(st.integers(1, 50), st.integers(0, 50), st.integers(1, 99), _rounds, st.integers(1, 10**9)),
)


class TestCounts:
    @given(ended=st.lists(_stats, max_size=4), fails=st.booleans())
    def test_counters_are_the_sums_over_the_replies(
        self, metered: tuple[Serving, Scripted], ended: list[Stats], fails: bool
    ) -> None:
        server, engine = metered
        before = scraped(server)
        for each in ended:
            engine.coming.append(each)
            assert server.post(PATH, **HI).status_code == 200
        if fails:
            assert server.post(PATH, **HI).status_code == 400
        after = scraped(server)

        def rise(name: str) -> float:
            return after.get(f"slipstream_{name}", 0) - before.get(f"slipstream_{name}", 0)

        assert rise("replies_total") == len(ended) and rise("replies_failed_total") == fails
        assert rise(f'requests_total{{endpoint="{PATH}",status="200"}}') == len(ended)
        assert rise(f'requests_total{{endpoint="{PATH}",status="400"}}') == fails
        assert rise('requests_total{endpoint="/metrics",status="200"}') == 1
        assert rise("prompt_tokens_total") == sum(each.prompt_tokens for each in ended)
        assert rise("cached_tokens_total") == sum(each.reused_tokens for each in ended)
        assert rise("disk_tokens_total") == sum(each.disk_tokens for each in ended)
        assert rise("images_total") == sum(each.images for each in ended)
        assert rise("image_tokens_total") == sum(each.image_tokens for each in ended)
        assert rise("image_seconds_total") == sum(each.image_s for each in ended)
        assert rise("generated_tokens_total") == sum(each.tokens for each in ended)
        assert rise("passes_total") == sum(each.passes for each in ended)
        assert rise("pass_streams_total") == sum(each.own_passes for each in ended)
        assert rise("pass_rows_total") == sum(each.rows for each in ended)
        assert rise("rounds_total") == sum(each.rounds for each in ended)
        assert rise("drafted_tokens_total") == sum(each.drafted for each in ended)
        assert rise("accepted_tokens_total") == sum(each.accepted for each in ended)
        by_position = [rise(f'accepted_tokens_by_position_total{{position="{at}"}}') for at in range(1, 8)]
        per_round = [count for each in ended for count in each.accepted_per_round]
        assert by_position == [sum(count >= at for count in per_round) for at in range(1, 8)]
        assert rise("prefix_cache_hits_total") + rise("prefix_cache_misses_total") == len(ended)
        assert rise("prefix_cache_hits_total") == sum(each.reused_tokens > 0 for each in ended)
        assert after["slipstream_peak_memory_bytes"] >= max((each.peak_memory_bytes for each in ended), default=0)
        assert not ended or after["slipstream_snapshots_bytes"] == ended[-1].snapshot_bytes
        assert after["slipstream_weights_bytes"] == 15
        assert after["slipstream_replies_active"] == after["slipstream_replies_queued"] == 0

    def test_counters_of_the_demo_pair_are_those_of_its_replies(self, demo_server: Serving) -> None:
        before = scraped(demo_server)
        answered = [demo_server.chat("What is Slipstream?", max_tokens=16) for _ in range(2)]
        after = scraped(demo_server)
        for name, field in (("generated_tokens", "predicted_n"), ("drafted_tokens", "draft_n"), ("rounds", "rounds")):
            rise = after[f"slipstream_{name}_total"] - before[f"slipstream_{name}_total"]
            assert rise == sum(each["timings"][field] for each in answered)
        assert after["slipstream_snapshots_bytes"] > 0
        assert after["slipstream_prefix_cache_hits_total"] > before["slipstream_prefix_cache_hits_total"]

    def test_unknown_paths_are_counted_together(self, metered: tuple[Serving, Scripted]) -> None:
        server, _ = metered
        for path in ("/v1/a", '/"}%0A'):
            server.client.get(path)
        samples = scraped(server)
        assert samples['slipstream_requests_total{endpoint="other",status="404"}'] >= 2

    def test_the_key_is_needed(self) -> None:
        with serving(ScriptedEngine, key="secret-key") as server:
            assert server.client.get("/metrics").status_code == 200
            assert server.client.get("/metrics", headers={"authorization": ""}).status_code == 401


class Stepped(ScriptedEngine):
    """Yields the events that the test puts, until the request is canceled."""

    def __init__(self) -> None:
        super().__init__()
        self.steps_allowed = threading.Semaphore(0)
        self.events: list[Event] = []

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        for event in self.events:
            while not self.steps_allowed.acquire(timeout=0.01):
                if cancel is not None and cancel.is_set():
                    yield Finished("cancelled", stats("dflash", 3))
                    return
            yield event


def until(condition: Any) -> None:
    for _ in range(6000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("timed out")


class TestActivity:
    def test_a_live_request_shows_its_prompt_tokens_and_rate(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchanges, "QUIET_S", 0.02)
        engine = Stepped()
        engine.events = [
            *(Queued(2), PrefillProgress(30, 100, 20)),
            Commit("a", "answer", (1,), ("prefill",), at_s=1.0),
            Round(8, "drafter", 4, 3, 1.2),
            *(Commit("b", "answer", (1, 2, 3, 4), ("drafter",) * 4, at_s=1.5), Queued(9)),
        ]
        with serving(lambda: engine) as server:
            metrics = server.api.metrics
            headers = {"user-agent": "claude-cli/2.1 (external)"}
            with server.client.stream("POST", PATH, json=HI | {"stream": True}, headers=headers):
                start = LiveRequest(1, PATH, "claude-cli", position=2)
                reading = replace(start, state="reading", position=0, prompt_tokens=100, cached_tokens=20, read_tokens=30)
                writing = replace(reading, state="writing", tokens=1)
                for expected in (start, reading, writing, writing, replace(writing, tokens=5)):
                    engine.steps_allowed.release()
                    until(lambda expected=expected: [replace(live, tok_s=None) for live in metrics.activity()] == [expected])
            until(lambda: not metrics.activity())  # the client closed the connection
            assert metrics.totals().counts.tokens == 3


class TestRate:
    @given(
        steps=st.lists(st.tuples(st.floats(0.0, 2.0), st.integers(0, 2), st.integers(1, 20)), max_size=40), wait=st.floats(0.0, 9.0)
    )
    def test_each_rate_is_that_of_the_last_seconds_on_one_clock(self, steps: list[tuple[float, int, int]], wait: float) -> None:
        now = [100.0]
        metrics, arrived = Metrics(lambda: now[0]), list[tuple[float, int, int]]()
        replies = [metrics.begin(PATH, "") for _ in range(3)]
        for seconds, reply, count in steps:
            now[0] += seconds
            metrics.generated(replies[reply], count)
            arrived.append((now[0], reply, count))
        now[0] += wait
        for reply, live in enumerate(metrics.activity()):
            latest = [(at, count) for at, own, count in arrived if own == reply and now[0] - at <= 5.0]
            if not latest or now[0] - latest[0][0] < 0.5:
                assert live.tok_s is None
            else:
                later = sum(count for at, count in latest if at > latest[0][0])
                assert live.tok_s == pytest.approx(later / (now[0] - latest[0][0]))


class TestLog:
    def test_a_line_has_the_method_path_status_tokens_and_seconds_only(
        self, server: Serving, caplog: pytest.LogCaptureFixture
    ) -> None:
        def lines() -> list[str]:
            ours = [record for record in caplog.records if record.name.startswith("mlx_engine")]  # others' are the client's
            return [record.getMessage() for record in ours]

        with caplog.at_level(logging.INFO, logger="mlx_engine.api_server"):
            body = {"messages": [{"role": "user", "content": "secret words"}], "user": "secret name"}
            server.client.post(f"{PATH}?secret=query", content=json.dumps(body), headers={"x-api-key": "secret-key"})
            server.client.get("/no%0Asuch")
            # a line is written after its response, so the two may swap, and that of an earlier test may come between
            for expected in (rf"POST {PATH} 200, 5 tokens, \d+\.\d\d s", r"GET /no\\nsuch 404, 0 tokens, \d+\.\d\d s"):
                until(lambda expected=expected: any(re.fullmatch(expected, line) for line in lines()))
        assert not any("secret" in line for line in lines())

    def test_content_is_logged_only_if_asked(self, caplog: pytest.LogCaptureFixture) -> None:
        with serving(ScriptedEngine, log_content=True) as server, caplog.at_level(logging.INFO, logger="mlx_engine.api_server"):
            server.post(PATH, messages=[{"role": "user", "content": "some\nwords"}])
        assert f'{PATH} {{"messages": [{{"role": "user", "content": "some\\nwords"}}]}}' in caplog.text


@pytest.fixture(scope="module")
def metered() -> Iterator[tuple[Serving, Scripted]]:
    engine = Scripted()
    with serving(lambda: engine) as server:
        yield server, engine
