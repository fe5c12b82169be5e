"""What another stream would gain, from measured rates of all streams together."""

_MEMORY = 256.0  # steps that count in a rate; in earlier ones, caches were shorter
_FORGETTING = 1 / 4096  # of the other rates, at each step, so that they are measured again
_KNOWN = 32.0  # steps after which a rate is known: how many drafts each of them accepts then matters little


class StreamGain:
    """Rates of all streams together, by the number of streams."""

    def __init__(self) -> None:
        self._tokens: dict[int, float] = {}
        self._seconds: dict[int, float] = {}
        self._steps: dict[int, float] = {}

    def record(self, streams: int, tokens: int, seconds: float) -> None:
        """Record a step of one of `streams` streams, and how long its turn took."""
        for count in self._steps:
            kept = 1 - (1 / _MEMORY if count == streams else _FORGETTING)
            for values in (self._tokens, self._seconds, self._steps):
                values[count] *= kept
        for values, value in ((self._tokens, tokens), (self._seconds, seconds), (self._steps, 1.0)):
            values[streams] = values.get(streams, 0.0) + value

    def expected(self, streams: int) -> bool:
        """Return whether more streams would be faster together, as far as is known."""
        now, more = self._rate(streams), [count for count in self._steps if count > streams and self._rate(count) is not None]
        if now is None or not more:
            return True
        rate = self._rate(min(more))
        return rate is not None and rate > now

    def _rate(self, streams: int) -> float | None:
        seconds = self._seconds.get(streams, 0.0)
        return self._tokens[streams] / seconds if self._steps.get(streams, 0.0) >= _KNOWN and seconds > 0 else None
