"""An engine that plays a recording at a given speed, to measure the window without a model's load."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    Commit,
    Event,
    Finished,
    LoadProgress,
    PairInfo,
    PrefillProgress,
    Round,
    Source,
    Stats,
    StopReason,
    WorkProgress,
)
from mlx_engine.contract.machine_events import Calibrated, KernelsSelected, Roofline
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Mode
from mlx_engine.contract.token_counts import TokenCount
from tests.engine_double import EngineDouble

TEXT = '''## Checking whether a number is prime

A number is **prime** if it is larger than 1 and only 1 and itself divide it. It is enough to try divisors up to its *square root*:
if `n = a * b`, then one of the two is at most `√n`.

1. Numbers below 2 are not prime.
2. Even numbers are prime only if they are 2:
   - `4`, `6`, `8` have the divisor 2;
   - so have all larger ones.
3. For the rest, try the odd divisors.

```python
from math import isqrt


def is_prime(n: int) -> bool:
    """Whether only 1 and n divide n."""
    if n < 2:
        return False
    if n % 2 == 0:
        return n == 2
    return all(n % d for d in range(3, isqrt(n) + 1, 2))


print([n for n in range(50) if is_prime(n)])  # 2, 3, 5, 7, ...
```

| n | divisors | prime |
|---:|:---|:---:|
| 7 | 1, 7 | yes |
| 9 | 1, 3, 9 | no |
| 196 | 1, 2, 4, 7, 14, 28, 49, 98, 196 | no |

> The sieve of Eratosthenes is faster when you need *all* primes up to a limit: it crosses out multiples and never divides.

For one number the test above takes about `√n / 2` steps, which is a few thousand for a number of eight digits.

'''
# Text with everything else that a reply can contain.
RICH = (
    TEXT
    + r"""The number of divisors of $n = \prod p_i^{a_i}$ is

$$
d(n) = \prod_{i} (a_i + 1), \qquad \text{so} \quad d(196) = (2 + 1)(2 + 1) = 9
$$

- [x] $\sqrt{196} = 14$ is whole, so the count is odd
- [ ] \(\frac{1}{2}\) of them are at most 14

"""
)
TOKEN_CHARS = 4
BLOCK = 16  # rows per round
ACCEPTED = (15, 9, 12, 4, 15, 7, 15, 2)  # per round, repeated


def _by(tokens: int) -> tuple[Source, ...]:
    """Every token of a round except the last was drafted."""
    drafter: tuple[Source, ...] = ("drafter",)
    return (*drafter * (tokens - 1), "target")


class RecordedEngine(EngineDouble):
    """An engine with a fixed text instead of a model. With a rate of None it plays as fast as possible."""

    def __init__(self, text: str = TEXT, dflash_tok_s: float | None = 500.0, plain_tok_s: float | None = 130.0) -> None:
        self._text = text
        self._rates: dict[Mode, float | None] = {"dflash": dflash_tok_s, "plain": plain_tok_s}

    def load(self, target: Path, drafter: Path | None) -> Iterator[LoadProgress | PairInfo]:
        yield LoadProgress(0.5, EngineText("", "Opening the recording"))
        yield PairInfo("Recording", "a recorded text", "a recorded text", "none", 16, 4096, 0, 0, can_think=False)

    def generate(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event]:
        yield PrefillProgress(12, 12, 0)
        rate, step = self._rates[request.mode], BLOCK if request.mode == "dflash" else 1
        began = time.monotonic()
        tokens = [self._text[at : at + TOKEN_CHARS] for at in range(0, len(self._text), TOKEN_CHARS)][: request.max_tokens]
        done = rounds = 0
        kept = tested = 0
        reason: StopReason = "eos"
        while done < len(tokens):
            due = began + (done + 1) / rate if rate else 0.0  # from the start, so that late wake-ups don't accumulate
            if cancel.wait(max(0.0, due - time.monotonic())):
                reason = "cancelled"
                break
            accepted = ACCEPTED[rounds % len(ACCEPTED)] if step > 1 else 0
            taken = tokens[done : done + accepted + 1]
            done += len(taken)
            by = _by(len(taken))
            runs = tuple((source, len(text)) for source, text in zip(by, taken, strict=True))
            yield Commit("".join(taken), "answer", tuple(range(done - len(taken), done)), by, runs)
            if step > 1:
                rounds += 1
                kept += accepted
                tested += min(accepted + 1, step - 1)
                yield Round(step, "drafter", min(accepted + 1, step - 1), accepted, time.monotonic() - began)
        elapsed = time.monotonic() - began
        speed = (done - 1) / elapsed if done > 1 else None
        stats = Stats(
            request.mode, 12, 0, done, 0.01, 1200.0, speed, rounds, rounds * (step - 1), tested, kept,
            tuple(ACCEPTED[number % len(ACCEPTED)] for number in range(rounds)), (step,) * rounds,
            0, 0, request.seed or 1,
        )  # fmt: skip
        yield Finished(reason, stats)

    def count_tokens(self, request: CountTokens) -> TokenCount:
        return TokenCount(sum(len(message.content) // TOKEN_CHARS for message in request.messages), 4096)

    def roofline(self, cancel: threading.Event, again: bool) -> Iterator[WorkProgress | Roofline]:
        raise UserError("recorded_pair", "A recorded pair cannot be measured.")

    def calibrate(self, cancel: threading.Event) -> Iterator[WorkProgress | Calibrated]:
        raise UserError("recorded_pair", "A recorded pair cannot be measured.")

    def prove(self, cancel: threading.Event) -> Iterator[WorkProgress | KernelsSelected]:
        raise UserError("recorded_pair", "A recorded pair cannot be measured.")

    def unload(self) -> None:
        pass
