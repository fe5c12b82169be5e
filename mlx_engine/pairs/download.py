"""One pair from the hub onto this disk: examined first, fetched, checked, published. Run again, it goes on where it stopped."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.checkpoint import check_safetensors
from mlx_engine.pairs.inspection import Examination, examine
from mlx_engine.pairs.metadata import Hub
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.refusals import RevisionGone, Unreachable
from mlx_engine.pairs.repo import Listing
from mlx_engine.pairs.throttle import Throttle
from mlx_engine.pairs.transfer import Patience, Transfer

_WINDOW = 5.0  # seconds that a speed is averaged over
_BEAT = 0.2  # seconds between two reports
_SHARE_FOR_ANSWERS = 0.1  # of the patience, while nothing but an answer is waited for
_MOST_RESTARTS = 5  # for a repo that is revised again and again while it is fetched
Value = TypeVar("Value")


@dataclass(frozen=True)
class Progress:
    """How far a download is. Bytes are the pair's own, of both halves; the speed is what came lately, by this program or by another
    that fetches the same files."""

    done: int
    total: int
    bytes_per_s: float = 0.0
    words: str = ""  # what a person should know just now; empty when all is well

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.bytes_per_s if self.bytes_per_s > 0 else None


@dataclass
class Download:
    """`run` it, on a thread of its own or not; `stop` it by the event that `run` takes: then all that came is kept.

    Args:
        pins: repo -> commit. Kept between runs by whoever keeps the download, so that both halves stay what they were at the start.
    """

    pair: Pair
    hub: Hub
    cache: Cache
    pins: dict[str, str] = field(default_factory=dict)
    connections: int = 6
    throttle: Throttle = field(default_factory=Throttle)
    patience: Patience = field(default_factory=Patience)
    notes: list[str] = field(default_factory=list)  # what happened on the way, oldest first
    begun: bool = False  # it was examined and may be fetched, so that there is something to go on with
    fetched: int = 0  # bytes that came over the network

    def run(self, stop: threading.Event, tell: Callable[[Progress], None] = lambda progress: None) -> tuple[Path, ...] | None:
        """Fetch what is missing; returns the snapshots' folders, target first, or None when stopped.

        Raises:
            UserError: why it cannot be fetched, or cannot go on. What came is kept.
        """
        meter = _Meter(tell, self.notes)
        for _ in range(_MOST_RESTARTS):
            try:
                examined = self._patiently(self._examined, stop, meter)
                if examined is None or stop.is_set():
                    return None
                self._refuse_unfit(examined)
                for listing in examined.listings:
                    if listing.now_called:
                        meter.note(f"{listing.repo} is now called {listing.now_called}; it is kept under the name you gave.")
                with self.cache.fetching(examined.listings):
                    self.begun = True
                    if not self._transfer(examined, stop, meter):
                        return None
                    folders = tuple(self._publish(listing) for listing in examined.listings)
            except RevisionGone:
                self._let_go(stop, meter)
                continue
            self._notice_revisions(examined.listings, meter)
            return folders
        raise UserError(f"{self.pair.name} is being revised again and again. What came is kept; try again later.")

    def _transfer(self, examined: Examination, stop: threading.Event, meter: "_Meter") -> bool:
        listings = list(examined.listings)
        transfer = Transfer(self.hub, self.cache, listings, self.connections, self.throttle, self.patience, meter.say, meter.note)
        meter.watch(transfer, examined.size)
        try:
            return transfer.run(stop, meter.beat)
        finally:
            self.fetched += transfer.fetched
            meter.rest()

    def _examined(self) -> Examination:
        examined = examine(self.hub, self.cache, self.pair, self.pins)
        self.pins.update({listing.repo: listing.commit for listing in examined.listings})
        return examined

    def _refuse_unfit(self, examined: Examination) -> None:
        if examined.why_not:
            raise UserError(f"{examined.why_not} Nothing was fetched.")
        if reason := examined.no_room(self.cache):
            raise UserError(reason)

    def _notice_revisions(self, listings: tuple[Listing, ...], meter: "_Meter") -> None:
        """What was begun is finished as it was, but nobody should have to guess that there is a later revision."""
        for listing in listings:
            with suppress(UserError):  # what is here is whole, whatever the hub says now
                if self.hub.listing(listing.repo).commit != listing.commit:
                    meter.note(
                        f"{listing.repo} was revised meanwhile. Here is the earlier revision, whole; pull again for the later one."
                    )

    def _let_go(self, stop: threading.Event, meter: "_Meter") -> None:
        """The pinned revision has gone: take the current one. Files that it shares with the old one are kept."""
        for repo in self.pair.repos:
            now = self._patiently(partial(self._commit, repo), stop, meter)
            if now is not None and self.pins.get(repo) not in (None, now):
                meter.note(f"{repo} was revised while it was being fetched: files that changed start again, the others are kept.")
            self.pins.pop(repo, None)

    def _commit(self, repo: str) -> str:
        return self.hub.listing(repo).commit

    def _publish(self, listing: Listing) -> Path:
        for file in listing.files:
            blob = self.cache.blob(listing, file)
            if file.path.endswith(".safetensors") and blob.exists():
                check_safetensors(blob, f"{file.path} of {listing.repo}", "It is what its owner published: pick another repo.")
        try:
            return self.cache.publish(listing)
        except OSError as error:
            raise UserError(f"{self.cache.root} cannot be written to ({error.strerror}). What came is kept.") from None

    def _patiently(self, question: Callable[[], Value], stop: threading.Event, meter: "_Meter") -> Value | None:
        """Ask until the hub answers, as long as patience lasts, and say from the first failure on what fails; None when stopped."""
        began, wait = time.monotonic(), self.patience.first_wait
        give_up = self.patience.give_up * _SHARE_FOR_ANSWERS
        while not stop.is_set():
            try:
                answer = question()
                meter.say("")
                return answer
            except Unreachable as error:
                left = give_up - (time.monotonic() - began)
                if left < 0:
                    raise
                meter.say(f"{error.fact} Trying again for up to {max(left, 1):.0f} s.")
                stop.wait(wait if error.after_s is None else min(error.after_s, self.patience.give_up))
                wait = min(2 * wait, self.patience.longest_wait)
        return None


class _Meter:
    """Turns a transfer's counters into a few reports a second."""

    def __init__(self, tell: Callable[[Progress], None], notes: list[str]) -> None:
        self._tell, self._notes = tell, notes
        self._transfer: Transfer | None = None
        self._done, self._total, self._words, self._last = 0, 0, "", 0.0
        self._seen: deque[tuple[float, int]] = deque()

    def watch(self, transfer: Transfer, total: int) -> None:
        self._transfer, self._total, self._last = transfer, total, 0.0
        self._seen.clear()
        self.beat()

    def say(self, words: str) -> None:
        """What stands beside the bar until the next word. Told at once while nothing is fetched, since no beat comes then."""
        before, self._words = self._words, words
        if self._transfer is None and words != before:
            self._tell(Progress(self._done, self._total, words=words))

    def note(self, words: str) -> None:
        """A lasting fact: what `say` does, and it is told at the end too."""
        if words not in self._notes:
            self._notes.append(words)
        self.say(words)

    def rest(self) -> None:
        """The transfer has ended, for now or for good."""
        self.beat(last=True)
        self._transfer = None

    def beat(self, last: bool = False) -> None:
        now = time.monotonic()
        if self._transfer is None or (now - self._last < _BEAT and not last):
            return
        self._last = now
        self._seen.append((now, self._transfer.fetched + self._transfer.beside))
        while now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()
        (then, before), (_, came) = self._seen[0], self._seen[-1]
        speed = (came - before) / (now - then) if now > then else 0.0
        self._done = min(self._transfer.received, self._total)
        self._tell(Progress(self._done, self._total, speed, self._words))
