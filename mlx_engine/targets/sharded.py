"""A target that several ranks run together.

Rank 0 makes all decisions: drafts, choices, widths, which reply has the next turn, and what is kept. Before it makes a pass or
changes a cache, it tells the other ranks, which repeat that with their own parts of the layers and caches. So they need neither the
drafter nor the head, and can't decide differently.
"""

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.hardware.device import DeviceSpan
from mlx_engine.models.configs.families import Family
from mlx_engine.targets.caches import Caches
from mlx_engine.targets.image_rows import ImageRows
from mlx_engine.targets.sharding import Tell
from mlx_engine.targets.target import StreamRows, Target


class _Frozen(dict[int, Any]):
    """Frozen layers, which all ranks have under the same number."""

    number: int


class _Numbers:
    """Numbers of objects that other ranks have, too, until this rank's are freed."""

    def __init__(self, tell: Tell) -> None:
        self._next, self._freed, self._tell = count(1), deque[int](), tell

    def new(self, owner: object) -> int:
        number = next(self._next)
        weakref.finalize(owner, self._freed.append, number)  # not `tell`, because garbage collection can begin inside it
        return number

    def tell(self, what: str, *values: Any) -> None:
        self.tell_freed()
        self._tell(what, *values)

    def tell_freed(self) -> None:
        while self._freed:
            self._tell("free", self._freed.popleft())


class LedCaches(Caches):
    """Caches of rank 0, whose changes the other ranks repeat."""

    def __init__(self, layers: list, numbers: _Numbers) -> None:
        super().__init__(layers)
        self._numbers, self.number = numbers, numbers.new(self)
        numbers.tell("caches", self.number)

    def rewind(self, rows: int) -> None:
        self._numbers.tell("rewind", self.number, rows)
        super().rewind(rows)

    def finish(self) -> None:
        self._numbers.tell("finish", self.number)
        super().finish()

    def freeze(self) -> dict[int, Any]:
        frozen = _Frozen(super().freeze())
        frozen.number = self._numbers.new(frozen)
        self._numbers.tell("freeze", self.number, frozen.number)
        return frozen

    def thaw(self, frozen: dict[int, Any]) -> None:
        assert isinstance(frozen, _Frozen)
        self._numbers.tell("thaw", self.number, frozen.number)
        super().thaw(frozen)

    def cut(self, length: int) -> None:
        self._numbers.tell("cut", self.number, length)
        super().cut(length)

    def copy(self, other: Caches, length: int) -> None:
        assert isinstance(other, LedCaches)
        self._numbers.tell("copy", self.number, other.number, length)
        super().copy(other, length)


class ShardedTarget(Target):
    """A rank's part of a target.

    A pass is started as a whole, because ranks wait for each other in each layer: which layers run must not depend on what a rank
    reads later.

    Args:
        tell: see `Sharding`.
    """

    queues = False  # the other ranks need to know each pass's rows

    def __init__(
        self, model: nn.Module, vocabulary: int, family: Family, taps: Sequence[int] = (), tell: Tell | None = None
    ) -> None:
        self._numbers = _Numbers(tell) if tell is not None else None
        super().__init__(model, vocabulary, family, taps)

    def _wrap(self, family: Family, taps: Sequence[int]) -> None:
        layers: Any = self.model.layers
        super()._wrap(family, sorted({*taps, len(layers)}))
        self._end = self._taps[len(layers)]

    def caches(self) -> Caches:
        caches = super().caches()
        return caches if self._numbers is None else LedCaches(caches.layers, self._numbers)

    def free_everywhere(self) -> None:
        """Free what this rank has freed on all ranks now, not before the next pass."""
        if self._numbers is not None:
            self._numbers.tell_freed()

    def follow(self, streams: Sequence[StreamRows]) -> None:
        """Repeat a pass of rank 0, and wait for it."""
        if len(streams) == 1:
            self.forward(streams[0].tokens, streams[0].caches)
        else:
            self.forward_packed(streams, False)
        mx.eval([stream.caches.state for stream in streams])

    def forward_packed(self, streams: Sequence[StreamRows], tapped: bool) -> list[tuple[mx.array, mx.array | None]]:
        self._announce(streams)
        return super().forward_packed(streams, tapped)

    def _run(self, tokens: mx.array, caches: Caches, span: DeviceSpan | None, images: ImageRows | None) -> mx.array:
        assert span is None and images is None
        self._announce([StreamRows(tokens, caches)])
        return super()._run(tokens, caches, None, None)

    def _announce(self, streams: Sequence[StreamRows]) -> None:
        if self._numbers is not None:
            self._numbers.tell("pass", [[_number(stream.caches), *_ids(stream.tokens)] for stream in streams])

    def _logits(self, tokens: mx.array, caches: list) -> mx.array:
        kept, self._end.keep = self._end.keep, True
        try:
            logits = super()._logits(tokens, caches)
            assert self._end.output is not None
            mx.async_eval(self._end.output)
            return logits
        finally:
            self._end.keep = kept
            if not kept:
                self._end.output = None


class FollowedTarget:
    """The target of a rank that repeats what rank 0 does."""

    def __init__(self, target: ShardedTarget) -> None:
        self._target = target
        self._held: dict[int, Any] = {}  # caches and frozen layers by number

    def repeat(self, what: str, *values: Any) -> bool:
        """Repeat a change, and return whether it was a pass.

        Raises:
            ValueError: the change is unknown.
        """
        match what, *values:
            case "pass", [*streams]:
                self._target.follow([StreamRows(mx.array(ids, mx.uint32), self._held[number]) for number, *ids in streams])
                return True
            case "caches", int(number):
                self._held[number] = self._target.caches()
            case "free", int(number):
                self._held.pop(number, None)
            case "rewind", int(number), int(rows):
                self._held[number].rewind(rows)
            case "finish", int(number):
                self._held[number].finish()
            case "cut", int(number), int(length):
                self._held[number].cut(length)
            case "copy", int(number), int(other), int(length):
                self._held[number].copy(self._held[other], length)
                mx.eval(self._held[number].state)
            case "freeze", int(number), int(frozen):
                self._held[frozen] = self._held[number].freeze()
            case "thaw", int(number), int(frozen):
                self._held[number].thaw(self._held[frozen])
            case _:
                raise ValueError(what)
        return False


def _number(caches: Caches) -> int:
    assert isinstance(caches, LedCaches)
    return caches.number


def _ids(tokens: mx.array) -> Iterator[int]:
    yield from tokens.tolist()  # type: ignore[misc]
