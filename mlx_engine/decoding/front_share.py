"""The share of the time of a reply that a user waits for, next to other replies.

It runs at no less than half of its speed alone. For each of its passes, it earns the time that the pass would take alone, and all
passes and chunks of prompts cost a share of their time. While it is behind, it makes its passes alone, and others wait. Chunks of
others' prompts wait until it has earned them. After a few passes, it makes its passes alone to earn a chunk that waits.
"""

_SHARE = 0.55  # of its speed alone; more than half, because turns take time that isn't counted
_LATEST_WEIGHT = 0.2  # of the latest pass in the average


class FrontShare:
    """The balance of a reply that a user waits for, in seconds."""

    def __init__(self) -> None:
        self._lead = 0.0
        self._alone: dict[int, float] = {}  # binary digits of a number of rows -> seconds of a pass alone
        self._chunk_s = 0.0

    def begin(self) -> None:
        """Begin a reply, which has its own depth and pair."""
        self._lead, self._alone = 0.0, {}

    @property
    def is_behind(self) -> bool:
        """Whether the reply must make its next pass alone, perhaps to learn its time."""
        return self._lead < 0 or not self._alone

    @property
    def affords_chunk(self) -> bool:
        """Whether a chunk of another prompt may be computed."""
        return self._lead >= _SHARE * self._chunk_s

    def record_alone(self, rows: int, seconds: float) -> None:
        """Record the time of a pass of the reply alone."""
        size = rows.bit_length()
        before = self._alone.get(size, seconds)
        self._alone[size] = before + _LATEST_WEIGHT * (seconds - before)

    def record_chunk(self, seconds: float) -> None:
        """Record the time of a chunk."""
        self._chunk_s = seconds

    def earn(self, rows: int) -> None:
        """Count a pass with rows of the reply."""
        if self._alone:
            nearest = min(self._alone, key=lambda size: (abs(size - rows.bit_length()), size))
            self._lead = min(self._lead + self._alone[nearest], _SHARE * self._chunk_s + self._alone[nearest])

    def spend(self, seconds: float) -> None:
        """Count time in which the reply was in progress."""
        self._lead -= _SHARE * seconds
