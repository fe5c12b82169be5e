"""Throughput of several replies at the same time, next to the same replies one after the other.

    python -m tests.benchmarks.streams [--replies 4] [--repeats 5] [--tokens 200] [--mode dflash] [--width 8]

Alternates both and prints tokens per second of the median and the best run, and the ratio. Texts must be identical. With a fixed
width, both make the same passes.
"""

import argparse
import threading
import time
from statistics import median

from mlx_engine.cli.bench_prompts import SETS
from mlx_engine.contract.events import Commit, Event, Finished
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Request
from mlx_engine.engine.host import EngineHost


class Stream:
    """A submitted request with its tokens."""

    def __init__(self, host: EngineHost, request: Request) -> None:
        self.tokens: list[int] = []
        self.end: Finished | None = None
        self.ended = threading.Event()
        host.submit(request, self._receive)

    def _receive(self, event: Event | None) -> None:
        if isinstance(event, Commit):
            self.tokens += event.tokens
        elif isinstance(event, Finished):
            self.end = event
        elif event is None:
            self.ended.set()


def run(host: EngineHost, requests: list[GenerationRequest], together: bool) -> tuple[float, float, list[list[int]]]:
    """Return tokens per second of wall time and of CPU time, and the texts."""
    began, cpu, streams = time.perf_counter(), time.process_time(), []
    for request in requests:
        streams.append(Stream(host, request))
        if not together:
            streams[-1].ended.wait()
    for stream in streams:
        stream.ended.wait()
    count = sum(len(stream.tokens) for stream in streams)
    return count / (time.perf_counter() - began), count / (time.process_time() - cpu), [stream.tokens for stream in streams]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--mode", choices=("dflash", "plain"), default="dflash")
    parser.add_argument("--width", type=int)
    given = parser.parse_args()
    host = EngineHost()
    Stream(host, LoadPair()).ended.wait()
    options = {"mode": given.mode, "width": given.width, "max_tokens": given.tokens, "ignore_eos": True, "reuse": False}
    requests = [GenerationRequest(prompt.messages, **options) for prompt in SETS["mixed"][: given.replies]]
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    texts = run(host, requests, False)[2]
    for repeat in range(given.repeats):
        for together in (True, False) if repeat % 2 else (False, True):
            wall, cpu, got = run(host, requests, together)
            assert got == texts, "the texts differ"
            found[together].append((wall, cpu))
    for at, clock in enumerate(("wall time", "CPU time")):
        for name, chosen in (("median", median), ("best", max)):
            alone, both = (chosen(each[at] for each in found[together]) for together in (False, True))
            print(f"{clock}, {name}: {alone:.0f} tok/s alone, {both:.0f} tok/s together, ratio {both / alone:.3f}")
    host.wait(20)


if __name__ == "__main__":
    main()
