"""Counts of requests and replies, for `GET /metrics` and the Local Server window."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from mlx_engine.contract.client import Deliver
from mlx_engine.contract.counts import NO_REPLIES, Counts
from mlx_engine.contract.events import Commit, Event, Failed, Finished, PairInfo, PrefillProgress, Queued, Stats

_LATEST_S = 5.0  # over which the rate of a reply is measured
_LEAST_S = 0.5


@dataclass(frozen=True)
class LiveRequest:
    """A reply that is waiting or being generated.

    Attributes:
        number: unique, in the order of arrival.
        endpoint: path, such as “/v1/messages”.
        client: name of the program in its User-Agent header, such as “claude-cli”, or "".
        state: waiting in the queue, reading the prompt, or writing the reply.
        position: position in the queue, or 0.
        prompt_tokens: length of the prompt, or 0 if not known yet.
        cached_tokens: prompt tokens that come from a snapshot.
        read_tokens: prompt tokens read so far, including cached ones.
        tokens: generated tokens.
        tok_s: generated tokens per second in the last seconds, with the turns of other replies, so that all can be added. None if
            unknown.
    """

    number: int
    endpoint: str
    client: str = ""
    state: Literal["waiting", "reading", "writing"] = "waiting"
    position: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    read_tokens: int = 0
    tokens: int = 0
    tok_s: float | None = None


@dataclass(frozen=True)
class Totals:
    """Sums over the requests and replies that have ended.

    Attributes:
        requests: number of requests, by endpoint and HTTP status.
        replies: number of replies with statistics, including canceled ones.
        failed: number of replies that ended with an error.
        counts: of all these replies.
        accepted_at: number of accepted proposals, by their position in the draft.
        cache_hits: replies whose prompt began with a snapshot.
        peak_memory_bytes: the highest peak.
        snapshot_bytes: memory of the snapshots after the latest reply.
    """

    requests: tuple[tuple[tuple[str, int], int], ...] = ()
    replies: int = 0
    failed: int = 0
    counts: Counts = NO_REPLIES
    accepted_at: tuple[int, ...] = ()
    cache_hits: int = 0
    cache_misses: int = 0
    peak_memory_bytes: int = 0
    snapshot_bytes: int = 0

    def plus(self, stats: Stats) -> "Totals":
        """Return the totals after another reply."""
        reached = range(max(len(self.accepted_at), *stats.accepted_per_round, 0))
        before = (*self.accepted_at, *[0] * (len(reached) - len(self.accepted_at)))
        return replace(
            self,
            replies=self.replies + 1,
            counts=self.counts + Counts.of(stats),
            accepted_at=tuple(before[at] + sum(count > at for count in stats.accepted_per_round) for at in reached),
            cache_hits=self.cache_hits + (stats.reused_tokens > 0),
            cache_misses=self.cache_misses + (stats.reused_tokens == 0),
            peak_memory_bytes=max(self.peak_memory_bytes, stats.peak_memory_bytes),
            snapshot_bytes=stats.snapshot_bytes,
        )


class Metrics:
    """Counts that any thread can read at any time.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._latest: dict[int, deque[tuple[float, int]]] = {}  # by number, when tokens were generated, and how many
        self._live: dict[int, LiveRequest] = {}
        self._numbers = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._totals = Totals()

    def activity(self) -> tuple[LiveRequest, ...]:
        """Return the replies that are waiting or being generated, oldest first."""
        with self._lock:
            now = self._clock()
            return tuple(replace(live, tok_s=self._rate(live.number, now)) for live in self._live.values())

    def _rate(self, number: int, now: float) -> float | None:
        latest = self._latest.get(number)
        while latest and now - latest[0][0] > _LATEST_S:
            latest.popleft()
        if not latest or now - latest[0][0] < _LEAST_S:
            return None
        return sum(count for at, count in latest if at > latest[0][0]) / (now - latest[0][0])

    def generated(self, live: LiveRequest, count: int) -> None:
        """Count generated tokens of a reply."""
        with self._lock:
            self._latest.setdefault(live.number, deque()).append((now := self._clock(), count))
            self._rate(live.number, now)  # forgets old counts

    def totals(self) -> Totals:
        with self._lock:
            return replace(self._totals, requests=tuple(sorted(self._requests.items())))

    def count_request(self, endpoint: str, status: int) -> None:
        with self._lock:
            self._requests[endpoint, status] += 1

    def begin(self, endpoint: str, client: str) -> LiveRequest:
        with self._lock:
            self._numbers += 1
            live = self._live[self._numbers] = LiveRequest(self._numbers, endpoint, client)
            return live

    def update(self, live: LiveRequest) -> None:
        with self._lock:
            self._live[live.number] = live

    def end(self, live: LiveRequest) -> None:
        with self._lock:
            self._live.pop(live.number, None)
            self._latest.pop(live.number, None)

    def add(self, last: Finished | Failed) -> None:
        """Add the last event of a reply to the totals."""
        with self._lock:
            totals = self._totals
            self._totals = totals.plus(last.stats) if isinstance(last, Finished) else replace(totals, failed=totals.failed + 1)


class RequestMeter:
    """Counts the replies to one HTTP request.

    Attributes:
        endpoint: path of the request, or “other” if the server has no such endpoint.
        tokens: tokens of the replies that have ended.
    """

    def __init__(self, metrics: Metrics, endpoint: str, client: str) -> None:
        self._metrics, self._client = metrics, client
        self.endpoint, self.tokens = endpoint, 0

    def counting(self, deliver: Deliver) -> Deliver:
        """Return a `deliver` that counts the events of a reply."""
        live = self._metrics.begin(self.endpoint, self._client)

        def count(event: Event | None) -> None:
            nonlocal live
            match event:
                case Queued(position):
                    live = replace(live, position=position)
                case PrefillProgress(done, total, reused):
                    live = replace(live, state="reading", position=0, prompt_tokens=total, cached_tokens=reused, read_tokens=done)
                case Commit(tokens=tokens):
                    live = replace(live, state="writing", position=0, tokens=live.tokens + len(tokens))
                    self._metrics.generated(live, len(tokens))
                case Finished() | Failed():
                    self._metrics.add(event)
                    self.tokens += event.stats.tokens if isinstance(event, Finished) else 0
                    return
                case None:
                    self._metrics.end(live)
                    return
                case _:
                    return
            self._metrics.update(live)

        def deliver_counted(event: Event | None) -> None:
            count(event)
            deliver(event)

        return deliver_counted


def prometheus(metrics: Metrics, pair: PairInfo | None) -> str:
    """Return all counts in Prometheus's text format."""
    totals, live = metrics.totals(), metrics.activity()
    counts = totals.counts
    waiting = sum(each.state == "waiting" for each in live)
    lines: list[str] = []

    def add(name: str, kind: str, words: str, samples: Iterable[tuple[str, float]]) -> None:
        lines.extend((f"# HELP slipstream_{name} {words}", f"# TYPE slipstream_{name} {kind}"))
        lines.extend(f"slipstream_{name}{labels} {value}" for labels, value in samples)

    def counter(name: str, words: str, value: float) -> None:
        add(f"{name}_total", "counter", words, [("", value)])

    def gauge(name: str, words: str, value: float) -> None:
        add(name, "gauge", words, [("", value)])

    requests = [(f'{{endpoint="{path}",status="{status}"}}', count) for (path, status), count in totals.requests]
    add("requests_total", "counter", "HTTP requests by endpoint and status.", requests)
    gauge("replies_active", "Replies that are being generated.", len(live) - waiting)
    gauge("replies_queued", "Replies that wait in the queue.", waiting)
    counter("replies", "Replies that have ended, including canceled ones.", totals.replies)
    counter("replies_failed", "Replies that ended with an error.", totals.failed)
    counter("prompt_tokens", "Prompt tokens, including cached ones.", counts.prompt_tokens)
    counter("cached_tokens", "Prompt tokens that came from the prefix cache.", counts.reused_tokens)
    counter("disk_tokens", "Cached tokens that were read from disk.", counts.disk_tokens)
    counter("images", "Images in prompts.", counts.images)
    counter("image_tokens", "Prompt tokens that show images.", counts.image_tokens)
    counter("generated_tokens", "Generated tokens.", counts.tokens)
    counter("passes", "Passes of decoding. Replies share them.", counts.passes)
    counter("pass_streams", "Replies in these passes. Per pass: pass_streams / passes.", counts.own_passes)
    counter("pass_rows", "Rows of tokens in these passes. Per pass: pass_rows / passes.", counts.rows)
    counter("rounds", "Drafts that were verified.", counts.rounds)
    counter("drafted_tokens", "Proposed tokens.", counts.drafted)
    counter("accepted_tokens", "Proposed tokens that the target accepted.", counts.accepted)
    positions = [(f'{{position="{at}"}}', count) for at, count in enumerate(totals.accepted_at, 1)]
    add("accepted_tokens_by_position_total", "counter", "Accepted tokens by position in the draft.", positions)
    counter("prefix_cache_hits", "Replies whose prompt began with a cached prefix.", totals.cache_hits)
    counter("prefix_cache_misses", "Replies whose whole prompt was computed.", totals.cache_misses)
    counter("waiting_seconds", "Seconds that replies waited.", counts.waiting_s)
    counter("prefill_seconds", "Seconds to the first token, excluding waiting.", counts.prefill_s)
    counter("image_seconds", "Seconds of these in which images were decoded and computed.", counts.image_s)
    counter("decode_seconds", "Seconds from the first token to the last, excluding waiting.", counts.decode_s)
    gauge("weights_bytes", "Memory of the loaded pair's weights.", pair.target_bytes + pair.drafter_bytes if pair else 0)
    gauge("snapshots_bytes", "Memory of the prefix cache after the latest reply.", totals.snapshot_bytes)
    gauge("peak_memory_bytes", "Highest memory use during a reply.", totals.peak_memory_bytes)
    return "\n".join([*lines, ""])
