"""A target's caches, all layers together."""

from mlx_lm.models.cache import KVCache

from mlx_engine.errors import UserError
from mlx_engine.limits import MOST_ROWS
from mlx_engine.place import Place
from mlx_engine.targets import recurrent, rewind
from mlx_engine.targets.placed import PlacedCache


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

    @property
    def placeable(self) -> bool:
        """Whether a pass can be queued before the host knows where it begins: rows behind it must not matter to any layer."""
        return all(type(cache) is KVCache for cache in self.layers)

    def placed(self, place: Place, rows: int) -> "Caches":
        """What a pass of `rows` rows runs on that begins at `place`; these are told of it by `settle`."""
        return Caches([PlacedCache(cache, place, rows) for cache in self.layers], place.most)

    def settle(self, length: int) -> None:
        """They hold so many tokens now, of passes that were placed; what lies behind is overwritten by the next."""
        for cache in self.layers:
            cache.offset = length
        self.length = length

    def check(self) -> None:
        """Refuse a kind of cache that cannot rewind.

        Raises:
            UserError: with the kind's name.
        """
        for cache in self.layers:
            rewind.undo(cache)

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
