"""A target's caches, all layers together."""

from mlx_engine.errors import UserError
from mlx_engine.limits import MOST_ROWS
from mlx_engine.positions import Span
from mlx_engine.targets import recurrent, rewind
from mlx_engine.targets.placed import PlacedCaches


class Caches:
    """A target's caches, one a layer. `length` is how many tokens they hold, those of a pass that is only queued included."""

    def __init__(self, layers: list, length: int = 0) -> None:
        self.layers = layers
        self.length = length
        self._rows = 0
        self._undo: list[rewind.Undo | None] = []
        self._placed: list[PlacedCaches] = []  # passes that are not settled yet
        self._settled: tuple[PlacedCaches, int, int] | None = None  # the last one that is, where it began, what it left

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

    def placed(self, span: Span) -> PlacedCaches:
        """What a pass over `span` runs on; `settle` tells these of it.

        Until it is settled another may be placed behind it, and then neither `forward` nor `rewind` may be called in between.
        """
        self._placed.append(PlacedCaches(self.layers, span, self._placed[-1] if self._placed else None))
        return self._placed[-1]

    def settle(self, length: int) -> None:
        """The first pass that was placed and not settled leaves so many tokens here.

        While another stands behind it, which will go on from what it left on the device, the caches themselves are not told: `rest`
        does that, if that other one is in vain.
        """
        self._settled = self._placed.pop(0), self.length, length - self.length
        self.length = length
        if not self._placed:
            self.rest()

    def rest(self) -> None:
        """Bring every cache up to what was settled; passes that were placed and not settled are in vain."""
        settled, self._settled, self._placed = self._settled, None, []
        if settled is not None:
            placed, start, kept = settled
            placed.settle(start, kept)

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
