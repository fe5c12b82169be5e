"""The rows of the Models window: search, filter, and selection."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.session.endpoints import Endpoints
from app.session.model_list import Candidate, Filter, Variant, matching
from mlx_engine.contract.requests import LoadPair
from mlx_engine.models.library.pair import Pair


class PairRows(QObject):
    """The listed endpoints and pairs, and which of them is selected."""

    changed = Signal()
    picked = Signal()  # a row or one of its variants

    def __init__(self, endpoints: Endpoints, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._endpoints = endpoints
        self.pairs: tuple[Candidate, ...] = ()
        self.found: tuple[Candidate, ...] = ()  # on the hub
        self.search = ""
        self.filter: Filter = "all"
        self.selected = ""
        self._select_next = ""  # the pair to select once it is listed
        self._target_next = ""  # the variant to show once the selected pair is listed

    @property
    def listed(self) -> tuple[Candidate, ...]:
        return (*map(Candidate.of_endpoint, self._endpoints.saved), *self.pairs, *self.found)

    @property
    def matching(self) -> list[Candidate]:
        """The endpoints and pairs that match the filter and the search.

        The hub's rows match the search already. If the catalog has the target of one, its row is listed instead.
        """
        if self.filter != "hub":
            return matching([one for one in self.listed if not one.from_hub], self.filter, self.search)
        catalog = self._catalog
        return list({row.id: row for one in self.found for row in [catalog.get(_target(one.shown), one)]}.values())

    def in_catalog(self, found: Candidate) -> Candidate | None:
        """Return the catalog's row with the target of a row of the hub, or None."""
        return self._catalog.get(_target(found.shown))

    @property
    def _catalog(self) -> dict[str, Candidate]:
        """The catalog's rows by their targets."""
        entries = [one for one in self.pairs if one.entry is not None]
        return {_target(variant): one for one in reversed(entries) for variant in one.variants if variant.pair is not None}

    @property
    def current(self) -> Candidate | None:
        return next((one for one in self.listed if one.id == self.selected), None)

    def put(self, pairs: Sequence[Candidate], loaded: LoadPair | None, in_use: Callable[[Candidate], bool]) -> None:
        """List surveyed pairs, keeping the hub's answers, and select one if none is."""
        before = {one.id: one for one in self.pairs}
        self.pairs = tuple(one.keeping(before[one.id]) if one.id in before else one for one in pairs)
        if not before:
            self.show_loaded(loaded)
        self._select_listed()
        if any(one.id == self._select_next for one in self.pairs):
            self.selected, self._select_next = self._select_next, ""
        if self.current is None:
            self.selected = self.first(in_use)
        self._show_next_target()
        self.picked.emit()

    def first(self, in_use: Callable[[Candidate], bool]) -> str:
        """Return the id of the row in use, or else of the first pair."""
        return next((one.id for one in (*filter(in_use, self.listed), *self.pairs)), "")

    def add(self, pair: Candidate) -> None:
        """List a new pair, and select it after the next survey."""
        self.pairs = (pair, *(one for one in self.pairs if one.id != pair.id))
        self._select_next, self.search, self.filter = pair.id, "", "all"

    def narrow(self, search: str, filter: Filter) -> None:
        """Show only matching pairs, and select the best match."""
        self.search, self.filter = search, filter
        rows = self.matching
        if rows and (self.search or not any(one.id == self.selected for one in rows)):
            self.select(rows[0].id)
        self.changed.emit()

    def clear_search(self) -> None:
        """List all pairs and endpoints again."""
        self.search, self.filter = "", "all"
        self.changed.emit()

    def select(self, id: str) -> None:
        if id != self.selected:
            self.selected = id
            self.changed.emit()
        self.picked.emit()

    def show_variant(self, index: int, auto: bool = False) -> None:
        """Show a variant of the selected pair, or the one that Auto chooses."""
        if (one := self.current) is not None and 0 <= index < len(one.variants):
            self._replace(replace(one, index=index, auto=auto).settled())
            self.picked.emit()

    def show_loaded(self, loaded: LoadPair | None) -> None:
        """Show the loaded drafter in its row, or Auto if Auto chose it."""
        for one in self.pairs:
            for index, variant in enumerate(one.variants):
                if loaded is not None and variant.folders == (loaded.target, loaded.drafter):
                    self._replace(replace(one, index=index, auto=loaded.auto or len(one.variants) == 1).settled())

    def show_target(self, id: str, target: str) -> None:
        """Select a pair and show its variant with this target once the pair is listed."""
        self._target_next = target
        self.select(id)
        self._show_next_target()

    def update(self, pair: Pair, change: Callable[[Variant], Variant]) -> None:
        """Change the first variant with this pair."""
        for one in (*self.found, *self.pairs) if self.filter == "hub" else self.pairs:
            for index, variant in enumerate(one.variants):
                if variant.pair == pair:
                    self._replace(one.with_variant(index, change(variant)))
                    return
        self.changed.emit()

    def show_found(self, found: Sequence[Candidate]) -> None:
        """List what was found on the hub, and select the first if none is selected."""
        self.found = tuple(found)
        rows = self.matching
        if self.filter == "hub" and rows and not any(one.id == self.selected for one in rows):
            self.selected = rows[0].id
            self.picked.emit()
        self.changed.emit()

    def show_in_catalog(self, found: Candidate) -> None:
        """Select the catalog's row for a row of the hub, if any, and show its variant."""
        if (listed := self.in_catalog(found)) is not None:
            self.select(listed.id)
            self.show_variant(list(map(_target, listed.variants)).index(_target(found.shown)))

    def forget_answers(self) -> None:
        """Forget what the hub said about pairs that aren't on disk."""

        def forgotten(variant: Variant) -> Variant:
            return variant if variant.folders else replace(variant, checked=False, problem=None)

        self.pairs = tuple(replace(one, variants=tuple(map(forgotten, one.variants))) for one in self.pairs)
        self.picked.emit()

    def replace_found(self, changed: Candidate) -> None:
        """Update a row of the hub, and have it checked further if it is selected."""
        self._replace(changed)
        if changed.id == self.selected:
            self.picked.emit()

    def _select_listed(self) -> None:
        """Select the catalog's row if a row of the hub turns out to be in it."""
        if (one := self.current) is not None and one.from_hub and (listed := self.in_catalog(one)) is not None:
            self.selected = listed.id

    def _show_next_target(self) -> None:
        targets = [variant.pair and variant.pair.target for variant in self.current.variants] if self.current else []
        if self._target_next in targets:
            self.show_variant(targets.index(self._target_next))
            self._target_next = ""

    def _replace(self, changed: Candidate) -> None:
        self.pairs, self.found = (
            tuple(changed if one.id == changed.id else one for one in rows) for rows in (self.pairs, self.found)
        )
        self.changed.emit()


def _target(variant: Variant) -> str:
    """Return a target's repo in lower case, or an empty string if it isn't on the hub."""
    return variant.pair.target.lower() if variant.pair is not None else ""
