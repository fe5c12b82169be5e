"""The pairs and connections that were used recently, to switch between them."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from app.session.activity import SessionActivity
from app.session.model_list import Candidate
from app.session.pair_session import PairLoader
from app.session.picker import Picker
from app.storage.json_values import parse_json, read_as
from app.storage.recent_model import RecentModel
from app.text.language import tr
from mlx_engine.contract.requests import LoadPair

MOST_RECENT = 6  # that aren't pinned
_SETTING = "recent_models"


class RecentModels(QObject):
    """The list for the menu of models, kept across restarts."""

    changed = Signal()

    def __init__(
        self, settings: QSettings, loader: PairLoader, activity: SessionActivity, picker: Picker, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._settings, self._loader, self._activity, self._picker = settings, loader, activity, picker
        self._known = read_as(tuple[RecentModel, ...], parse_json(str(settings.value(_SETTING) or "[]")), ())
        loader.loaded.connect(self._add_loaded)
        picker.storage.moved.connect(self._follow_move)
        for signal in (loader.changed, loader.loaded, activity.changed, picker.changed):
            signal.connect(self.changed)

    @property
    def listed(self) -> list[RecentModel]:
        """Pinned models first, then those used last. Those that are gone are left out."""
        return sorted((one for one in self._known if not self.is_gone(one)), key=lambda one: not one.pinned)

    def in_use(self, one: RecentModel) -> bool:
        return self._loader.pair is not None and one.place == self._loaded.place

    def macs_to_load_on(self, one: RecentModel) -> int:
        """How many Macs would run the model in use if it were loaded again.

        0 if it runs on these Macs already.
        """
        loaded, workers = self._loader.loaded_from, self._loader.workers()
        return 1 + len(workers) if self.in_use(one) and loaded is not None and loaded.workers != workers else 0

    @property
    def why_not(self) -> str:
        """Why no model can be switched to now, or an empty string."""
        if self._loader.running:
            return tr("The models are still loading. Try again in a moment.")
        return self._activity.why_busy

    def surveyed(self, one: RecentModel) -> Candidate | None:
        """Return the surveyed row that shows this pair, or None if it isn't known.

        For Auto, the row shows the drafter that Auto tries first, whichever was loaded last.
        """
        pairs = [
            (replace(row, index=index), order if (order := variant.auto_order) is not None else len(row.variants))
            for row in self._picker.rows.pairs
            for index, variant in enumerate(row.variants)
            if variant.folders and (variant.folders[0] == Path(one.target) if one.auto else variant.folders == one.folders)
        ]
        return min(pairs, key=lambda pair: pair[1])[0] if pairs and not one.connection else None

    def use(self, one: RecentModel) -> None:
        """Load the pair, or connect to the server, unless it is in use.

        A pair is loaded again if other Macs were chosen since.
        """
        if self.in_use(one) and not self.macs_to_load_on(one):
            return
        if one.connection:
            self._picker.connect_to(one.connection)
        else:
            self._activity.use(LoadPair(*one.folders, auto=one.auto) if one.target else LoadPair())

    def pin(self, one: RecentModel, pinned: bool) -> None:
        """Keep a model in the list, or let others replace it."""
        self._keep([replace(each, pinned=pinned) if each.place == one.place else each for each in self._known])

    def survey(self) -> None:
        """Find out which models fit."""
        self._picker.refresh()

    @property
    def _loaded(self) -> RecentModel:
        loader, pair = self._loader, self._loader.loaded_from or LoadPair()
        name = loader.pair.name if loader.pair is not None else ""
        if loader.connected_to is not None:
            return RecentModel(name, connection=loader.connected_to.name)
        if pair.target is None:
            return RecentModel(name)
        return RecentModel(name, str(pair.target), str(pair.drafter or ""), pair.auto)

    @Slot()
    def _add_loaded(self) -> None:
        if self._loader.pair is not None:
            loaded = self._loaded
            pinned = any(one.pinned for one in self._known if one.place == loaded.place)
            self._keep([replace(loaded, pinned=pinned), *(one for one in self._known if one.place != loaded.place)])

    @Slot(object, object)
    def _follow_move(self, old: Path, new: Path) -> None:
        self._keep([one.moved(old, new) for one in self._known])

    def _keep(self, models: list[RecentModel]) -> None:
        recent = [one for one in models if not one.pinned][:MOST_RECENT]
        self._known = tuple(one for one in models if one.pinned or one in recent)
        self._settings.setValue(_SETTING, json.dumps([asdict(one) for one in self._known]))
        self.changed.emit()

    def is_gone(self, one: RecentModel) -> bool:
        """Whether a connection was removed, or a pair isn't on the disk any more."""
        if one.connection:
            gone = self._picker.endpoints.find(one.connection) is None
        else:
            gone = bool(self._picker.rows.pairs) and self.surveyed(one) is None
        return gone and not self.in_use(one)
