"""Send random requests to one engine for hours, and compare every text with the text alone.

    python -m tests.benchmarks.soak [--minutes 120] [--clients 6] [--texts 200] [--seed N]

First, plain decoding writes each text alone, with the seed of its request. Then clients ask for these texts again: plain, with the
drafter, with lookup only, with fixed widths, ahead of others or after them, with and without saved prompts, whole, shorter, or
canceled after some tokens. About every hundredth request loads the pair again. Each minute has a line: replies, canceled ones,
loads, tokens, the most tokens that others got while a reply waited for one, memory, and faults. A fault is another text, a failed
reply, a reply that waited while others got ten thousand tokens, or memory 3 % higher in the last quarter than in the second.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from tests import reference_blas

os.environ["SLIPSTREAM_BLAS"] = "wheel"  # a row has the same bits alone and next to others
reference_blas.load()
os.environ["XDG_CACHE_HOME"] = (caches := tempfile.TemporaryDirectory()).name

from mlx_engine.cli.bench_prompts import SETS  # noqa: E402
from mlx_engine.contract.events import Commit, Event, Failed, Finished  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Message, Request, Sampling  # noqa: E402
from mlx_engine.engine.host import EngineHost  # noqa: E402
from mlx_engine.hardware.child_process import footprint  # noqa: E402

MB = 1 << 20
MOST_WAIT = 10_000  # tokens of others
MOST_GROWTH = 1.03


@dataclass(frozen=True)
class Text:
    """A request and the tokens that plain decoding gives it alone."""

    request: GenerationRequest
    tokens: tuple[int, ...]


class Reply:
    """A submitted request and its tokens.

    Args:
        cancel_at: number of tokens after which it is canceled, or None.

    Attributes:
        longest_wait: most tokens that others got while it waited for one.
    """

    all_tokens = 0  # of all replies

    def __init__(self, host: EngineHost, request: Request, cancel_at: int | None = None) -> None:
        self.tokens: list[int] = []
        self.end: Event | None = None
        self.longest_wait = 0
        self._cancel_at, self._latest = cancel_at, Reply.all_tokens
        self._ended = threading.Event()
        self._run = host.submit(request, self._receive)

    def _receive(self, event: Event | None) -> None:
        if event is None:
            self._ended.set()
            return
        self.end = event
        if isinstance(event, Commit):
            self.longest_wait = max(self.longest_wait, Reply.all_tokens - self._latest)
            self.tokens += event.tokens
            Reply.all_tokens += len(event.tokens)
            self._latest = Reply.all_tokens
            if self._cancel_at is not None and len(self.tokens) >= self._cancel_at:
                self._run.cancel()

    def wait(self) -> "Reply":
        self._ended.wait()
        return self


class Soak:
    """Clients that ask for known texts.

    Attributes:
        faults: what was wrong, in words.
    """

    def __init__(self, texts: int, seed: int) -> None:
        self.host = EngineHost()
        self.faults: list[str] = []
        self.counts = {"replies": 0, "canceled": 0, "loads": 0, "tokens": 0}
        self.longest_wait = 0
        self._draw, self._lock = random.Random(seed), threading.Lock()
        Reply(self.host, LoadPair()).wait()
        self._texts = [self._alone(self._request()) for _ in range(texts)]

    def _request(self) -> GenerationRequest:
        draw = self._draw
        prompt = draw.choice(SETS[draw.choice(["mixed", "mixed", "long"])]).messages
        if draw.random() < 0.3:  # a long system prompt, which several share
            rules = f"Rules of house {draw.randrange(3)}: " + "be kind and say what is true. " * 40
            prompt = (Message("system", rules), *prompt)
        sampling = draw.choice([Sampling(), Sampling(0.7), Sampling(1.0, top_p=0.9), Sampling(0.8, presence_penalty=0.5)])
        limit = draw.choice([8, 40, 150, 400])
        return GenerationRequest(prompt, mode="plain", sampling=sampling, seed=draw.getrandbits(60), max_tokens=limit, reuse=False)

    def _alone(self, request: GenerationRequest) -> Text:
        return Text(request, tuple(Reply(self.host, request).wait().tokens))

    def ask(self, until: float) -> None:
        """Ask for one text after the other until this time, of `time.monotonic`."""
        while time.monotonic() < until:
            with self._lock:
                text, asked = self._drawn()
                cancel_at = self._draw.randint(1, 60) if self._draw.random() < 0.15 else None
                pause = self._draw.choice([0.0, 0.0, 0.0, self._draw.expovariate(1.0)])
            reply = Reply(self.host, asked, cancel_at).wait()
            with self._lock:
                self._check(text, asked, cancel_at, reply)
            time.sleep(pause)

    def _drawn(self) -> tuple[tuple[int, ...], Request]:
        """Return the text that is expected, and what asks for it: a load expects nothing."""
        draw = self._draw
        if draw.random() < 0.01:
            return (), LoadPair()
        text = draw.choice(self._texts)
        options: dict[str, Any] = {
            "mode": draw.choice(["plain", "dflash", "dflash"]),
            **draw.choice([{}, {}, {}, {"lookup_only": True}, *({"width": width} for width in (1, 3, 8, 16))]),
            "reuse": draw.random() < 0.7,
            "foreground": draw.random() < 0.15,
            "gives_way": draw.random() < 0.1,
        }
        if draw.random() < 0.2:
            options["max_tokens"] = draw.randint(1, text.request.max_tokens)
        asked = replace(text.request, **options)
        return text.tokens[: asked.max_tokens], asked

    def _check(self, text: tuple[int, ...], asked: Request, cancel_at: int | None, reply: Reply) -> None:
        self.longest_wait = max(self.longest_wait, reply.longest_wait)
        if reply.longest_wait > MOST_WAIT:
            self.faults.append(f"waited for {reply.longest_wait} tokens of others: {asked}")
        if isinstance(reply.end, Failed):
            self.faults.append(f"failed with {reply.end}: {asked}")
        elif not isinstance(asked, GenerationRequest):
            self.counts["loads"] += 1
        else:
            canceled = isinstance(reply.end, Finished) and reply.end.reason == "cancelled"
            self.counts["replies"] += 1
            self.counts["canceled"] += canceled
            self.counts["tokens"] += len(reply.tokens)
            may_be_short = canceled and (cancel_at is not None or asked.gives_way)
            if tuple(reply.tokens) != (text[: len(reply.tokens)] if may_be_short else text):
                self.faults.append(f"another text of {len(reply.tokens)} tokens instead of {len(text)}: {asked}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    soak = Soak(given.texts, given.seed)
    start = time.monotonic()
    until = start + 60 * given.minutes
    clients = [threading.Thread(target=soak.ask, args=[until]) for _ in range(given.clients)]
    for client in clients:
        client.start()
    memory: list[float] = []
    while any(client.is_alive() for client in clients):
        clients[0].join(60)
        memory.append((footprint(os.getpid()) or 0) / MB)
        counts = ", ".join(f"{number} {name}" for name, number in soak.counts.items())
        state = f"wait {soak.longest_wait} tokens, {memory[-1]:.0f} MB, {len(soak.faults)} faults"
        print(f"{(time.monotonic() - start) / 60:.0f} min: {counts}, {state}", flush=True)
        if not clients[0].is_alive():
            for client in clients:
                client.join()
    quarter = len(memory) // 4
    if quarter:
        early, late = median(memory[quarter : 2 * quarter]), median(memory[-quarter:])
        print(f"memory: {early:.0f} MB in the second quarter, {late:.0f} MB in the last")
        if late > MOST_GROWTH * early:
            soak.faults.append("memory grows")
    for fault in soak.faults:
        print(fault)
    soak.host.wait(20)
    return bool(soak.faults)


if __name__ == "__main__":
    sys.exit(main())
