"""A target's caches, all layers together."""

from copy import deepcopy
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models.cache import KVCache, _BaseCache

from mlx_engine.errors import UserError
from mlx_engine.targets import growing, recurrent, rewind

MOST_ROWS = 64  # a pass of more rows is a prompt's; nothing is kept to take it back


class Caches:
    """A target's caches, one a layer. `length` is how many tokens they hold, those of a pass that is only queued included."""

    def __init__(self, layers: list, length: int = 0) -> None:
        self.layers = layers
        self.length = length
        self._rows = 0
        self._undo: list[rewind.Undo | None] = []

    def begin(self, rows: int) -> dict[int, recurrent.Undo]:
        """A pass of so many rows follows: keep what taking it back will need. By layer, the undos that want the pass's inputs."""
        self._rows, self._undo = rows, []
        if not 1 < rows <= MOST_ROWS:
            return {}
        self._undo = [_undo(cache) for cache in self.layers]
        return {index: undo for index, undo in enumerate(self._undo) if isinstance(undo, recurrent.Undo)}

    def rewind(self, rows: int) -> None:
        """Take the last `rows` rows of the latest pass back out: the state is then as if they had never been seen.

        Called once after a pass, also with `rows` 0, which lets go what was kept for it. A pass of one row, or of more than
        `MOST_ROWS`, can be taken back only if all caches grow.

        Raises:
            UserError: a layer's kind of cache cannot do that.
        """
        undos, self._undo = self._undo, []
        if rows:
            for index, cache in enumerate(self.layers):
                undo = (undos[index] if undos else None) or rewind.undo(cache)
                if not undos and not rewind.keeps_nothing(undo):
                    raise ValueError(f"nothing was kept to take back a pass of {self._rows} rows")
                undo.rewind(rows, self._rows)
        self.length -= rows

    def check(self) -> None:
        """Refuse a kind of cache that cannot rewind.

        Raises:
            UserError: with the kind's name.
        """
        for cache in self.layers:
            rewind.undo(cache)

    def copy(self) -> "Caches":
        """An independent copy, made between two passes.

        Buffers are shared until either side writes; MLX copies then, so a copy of caches that are not used again costs nothing.
        """
        return Caches([_copy(cache) for cache in self.layers], self.length)

    @property
    def state(self) -> list:
        """What to evaluate for the caches to be computed."""
        return [cache.state for cache in self.layers]

    @property
    def nbytes(self) -> int:
        """Bytes of all caches, spare rows included."""
        return sum(cache.nbytes for cache in self.layers)


def _undo(cache: object) -> rewind.Undo | None:
    try:
        return rewind.undo(cache)
    except UserError:  # plain decoding takes nothing back
        return None


def _copy(value: Any) -> Any:
    """A cache, or what one holds. Arrays get handles of their own: assigning to a slice changes the handle that it goes through."""
    if isinstance(value, mx.array):
        return mx.array(value)
    if isinstance(value, list | tuple):
        return type(value)(_copy(part) for part in value)
    if not isinstance(value, _BaseCache):
        return deepcopy(value)
    twin = object.__new__(type(value))
    own = vars(value)
    twin.__dict__.update({name: _copy(part) for name, part in own.items() if name != "make_mask"})
    if "make_mask" in own:  # an instance's own, bound to the original
        growing.share_mask(cast(KVCache, twin))
    return twin
