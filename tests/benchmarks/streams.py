"""What other replies cost a user's reply, and what a long prompt costs the replies that are being written.

    python -m tests.benchmarks.streams [--repeats 5] [--tokens 200] [--prompt 1990]

Prints the speed of a foreground reply next to three background replies with long prompts, relative to its speed alone; the time to
the first token of a long prompt next to three replies that are being written, relative to that alone; and the longest stop of these
relative to the longest chunk of the prompt alone. Runs take turns in one process; medians. The throughput is measured by
`slipstream bench --streams`.
"""

import argparse
import os
import random
import threading
import time
from itertools import count, pairwise
from statistics import median

from mlx_engine.cli.bench_prompts import SETS
from mlx_engine.contract.events import Commit, Event, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Mode, Request
from mlx_engine.engine.host import EngineHost

_LONG = 1 << 20  # tokens of a reply that the measurement ends


class Stream:
    """A submitted request, and when its events arrived."""

    def __init__(self, host: EngineHost, request: Request) -> None:
        self.began = time.perf_counter()
        self.commits: list[tuple[float, int]] = []  # time, tokens
        self.chunks: list[float] = []
        self.writes, self.ended = threading.Event(), threading.Event()
        self.run = host.submit(request, self._receive)

    def _receive(self, event: Event | None) -> None:
        if isinstance(event, Commit) and event.tokens:
            self.commits.append((time.perf_counter(), len(event.tokens)))
            self.writes.set()
        elif isinstance(event, PrefillProgress):
            self.chunks.append(time.perf_counter())
        elif event is None:
            self.writes.set()
            self.ended.set()

    @property
    def tok_s(self) -> float:
        (start, _), *rest = self.commits
        return sum(tokens for _, tokens in rest) / (rest[-1][0] - start)

    @property
    def first_token_s(self) -> float:
        return self.commits[0][0] - self.began

    def longest_stop(self, start: float, end: float) -> float:
        """Return the longest time between two commits in this time."""
        times = [at for at, _ in self.commits]
        return max(later - at for at, later in pairwise(times) if at < end and later > start)


class Bench:
    """The measurements on one host."""

    def __init__(self, tokens: int, prompt: int) -> None:
        self.host = EngineHost()
        self._tokens, self._prompt = tokens, prompt
        self._draw, self._numbers = random.Random(0), count()
        Stream(self.host, LoadPair()).ended.wait()

    def request(self, mode: Mode, limit: int, **options: object) -> GenerationRequest:
        prompt = SETS["mixed"][next(self._numbers) % 24]
        given = {"mode": mode, "max_tokens": limit, "ignore_eos": True, "reuse": False} | options
        return GenerationRequest(prompt.messages, **given)  # type: ignore[arg-type]

    def long_request(self, mode: Mode, limit: int, rows: int, **options: object) -> GenerationRequest:
        tokens = tuple(self._draw.randrange(10, 1500) for _ in range(rows))
        given = {"mode": mode, "max_tokens": limit, "ignore_eos": True, "reuse": False} | options
        return GenerationRequest(prompt_tokens=tokens, **given)  # type: ignore[arg-type]

    def front(self, mode: Mode, agents: int) -> float:
        """Return the speed of a foreground reply next to agents, which send one request after the other."""
        stop, threads = threading.Event(), []

        def ask() -> None:
            while not stop.is_set():
                stream = Stream(self.host, self.long_request(mode, 60, 1200))
                while not stream.ended.wait(0.05):
                    if stop.is_set():
                        stream.run.cancel()

        asked = GenerationRequest(
            SETS["mixed"][0].messages, mode=mode, max_tokens=self._tokens, ignore_eos=True, reuse=False, foreground=True
        )
        for _ in range(agents):
            threads.append(threading.Thread(target=ask))
            threads[-1].start()
        if agents:
            time.sleep(0.5)
        stream = Stream(self.host, asked)
        stream.ended.wait()
        stop.set()
        for thread in threads:
            thread.join()
        return stream.tok_s

    def first_token(self, mode: Mode, streams: int) -> tuple[float, float, float]:
        """Return the seconds to a long prompt's first token, its longest chunk, and the longest stop of other streams."""
        others = [Stream(self.host, self.request(mode, _LONG)) for _ in range(streams)]
        for other in others:
            other.writes.wait()
        time.sleep(0.3)
        stream = Stream(self.host, self.long_request(mode, 2, self._prompt))
        stream.ended.wait()
        for other in others:
            other.run.cancel()
        for other in others:
            other.ended.wait()
        chunk = max(later - at for at, later in pairwise(stream.chunks))
        stops = [other.longest_stop(stream.began, stream.commits[0][0]) for other in others]
        return stream.first_token_s, chunk, max(stops, default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200, help="of the foreground reply")
    parser.add_argument("--prompt", type=int, default=1990, help="tokens of the long prompt")
    given = parser.parse_args()
    bench = Bench(given.tokens, given.prompt)
    modes: tuple[Mode, Mode] = ("plain", "dflash")
    for mode in modes:
        bench.front(mode, 0)
        front: dict[int, list[float]] = {0: [], 3: []}
        first: dict[int, list[tuple[float, float, float]]] = {0: [], 3: []}
        for repeat in range(given.repeats):
            for agents in (0, 3) if repeat % 2 else (3, 0):
                front[agents].append(bench.front(mode, agents))
                first[agents].append(bench.first_token(mode, agents))
        alone, next_to = (median(front[agents]) for agents in (0, 3))
        print(f"{mode}: foreground {alone:.0f} tok/s alone, {next_to:.0f} next to three agents, ratio {next_to / alone:.2f}")
        ratio = median(after[0] / before[0] for before, after in zip(first[0], first[3], strict=True))
        chunk = median(each[1] for each in first[0])
        stop = median(each[2] for each in first[3])
        times = [median(each[0] for each in first[agents]) for agents in (0, 3)]
        words = f"{times[0]:.2f} s alone, {times[1]:.2f} s next to three"
        print(f"{mode}: first token of {given.prompt} tokens {words}, ratio {ratio:.2f}")
        print(f"{mode}: longest stop {stop:.3f} s, longest chunk alone {chunk:.3f} s")
    print(f"load {os.getloadavg()[0]:.1f}")
    bench.host.wait(20)


if __name__ == "__main__":
    main()
