"""Details of the selected pair: actions, memory, and facts."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QComboBox, QWidget

from app.session.activity import SessionActivity
from app.session.downloads import PairState
from app.session.help_pages import LOADING_PAGE, help_page
from app.session.model_list import Candidate
from app.session.pair_session import PairLoader
from app.session.picker import Picker
from app.session.tuning_survey import why_not_tunable
from app.text.language import tr, translated
from app.views.models.memory_details import MemoryDetails
from app.views.models.pair_facts import download_text, drafter_label, drafter_names, facts_of
from app.widgets.controls import ThinBar, as_tooltip, button, small_label, styled_label
from app.widgets.fact_table import MAX_WIDTH, FactTable
from app.widgets.layout import NoticeView, ScrollingPage, column, flow, line
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.models.downloads.hub import needs_token
from mlx_engine.network.offline import CODES


class PairCard(ScrollingPage):
    """A page about the selected pair. The main button downloads or loads the pair."""

    def __init__(self, theme: Theme, picker: Picker, activity: SessionActivity, loader: PairLoader) -> None:
        super().__init__(QWidget())
        self._picker, self._activity, self._loader = picker, activity, loader
        self.setAccessibleName(tr("Selected pair"))
        self.title = styled_label(theme, size=1.4, bold=True, wrap=True)
        self.variants = QComboBox()
        self.variants.setAccessibleName(tr("Quantization"))
        self.variants.activated.connect(self._choose_quantization)
        self.drafters = QComboBox()
        self.drafters.setAccessibleName(tr("Drafter"))
        self.drafters.activated.connect(self._choose_drafter)
        for box in (self.variants, self.drafters):
            theme.set_font(box, SMALL)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.verdict = small_label(theme)
        self.macs = small_label(theme, look="chip")
        self.unconfirmed = small_label(theme, tr("Not verified"), "chip")
        self.unconfirmed.setToolTip(tr("Not verified by Slipstream"))
        self.main = button("", "", "primary", self._act)
        self.main.setMinimumHeight(32)
        self.pause = button(tr("Pause"), tr("Pause the download"), "bordered", picker.pause)
        self.cancel = button(tr("Cancel"), "", "bordered", picker.cancel)
        self.tune = button(tr("Tune Drafter…"), tr("Tune the drafter to your messages"), "bordered")
        self.delete = button(tr("Remove Download"), tr("Delete this pair from disk"), "bordered", picker.delete)
        self.remove = button(
            tr("Remove from List"), tr("Remove this pair from the list and keep its files"), "bordered", picker.remove
        )
        self.bar = ThinBar(theme, tr("Progress"))
        self.progress = small_label(theme, look="secondary", wrap=True)
        self.problem = NoticeView("")
        self.again = button(tr("Try Again"), tr("Check the hub again"), "bordered", picker.check_hub)
        self.token = button(tr("Enter Token…"), tr("Enter a hub token"), "bordered")
        self.turn_off = button(tr("Turn Off"), tr("Turn off Offline"), "bordered")
        for made in (self.token, self.turn_off, self.again):
            self.problem.add_button(made)
        self.memory = MemoryDetails(theme)
        self.facts = FactTable(theme)
        self.page.setMaximumWidth(MAX_WIDTH)
        column(
            self.title,
            flow(self.verdict, self.macs, self.unconfirmed),
            flow(self.main, self.variants, self.drafters, self.pause, self.cancel, self.tune, self.delete, self.remove),
            self.bar,
            self.progress,
            self.problem,
            self.memory,
            line(),
            self.facts,
            None,
            spacing=16,
            margins=(24, 24, 24, 24),
            parent=self.page,
        )
        picker.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        one = self._picker.rows.current
        self.page.setVisible(one is not None)
        if one is None or one.endpoint is not None:
            return
        state = self._picker.state(one)
        self.title.setText(one.name)
        self.verdict.setText(one.verdict_text)
        set_look(self.verdict, "chip-accent" if one.fits and not one.shown.slow else "chip")
        self.macs.setText(tr("On {count} Macs", count=one.shown.macs))
        self.macs.setVisible(one.shown.macs > 1 and not one.why_not and not one.shown.undivided)
        self.unconfirmed.setVisible(not one.confirmed and not one.why_not and not one.shown.checked and not one.shown.folders)
        self._show_variants(one, state)
        self._show_actions(one, state)
        self._show_progress(one, state)
        self._show_problem(one, state)
        self.memory.setVisible(not one.why_not and not one.shown.undivided)
        self.memory.show_fit(one.shown.fit, one.shown.estimated, one.shown.macs)
        self.facts.show_facts(facts_of(one, self._picker.machine_measured))

    def _show_variants(self, one: Candidate, state: PairState) -> None:
        chosen = state in ("waiting", "running", "loading")
        names, shown = drafter_names(one), one.alternatives.index(one.index)
        drafters = [drafter_label(name, one.variants[index]) for index, name in names.items()]
        if one.automatic is not None:
            drafters.insert(0, tr("Auto: {drafter}", drafter=names[one.automatic]))
            shown = 0 if one.auto else shown + 1
        for box, labels, index in (
            (self.variants, one.labels, one.labels.index(one.shown.label)),
            (self.drafters, drafters, shown),
        ):
            if [box.itemText(at) for at in range(box.count())] != labels:
                box.clear()
                box.addItems(labels)
            box.setCurrentIndex(index)
            box.setToolTip(as_tooltip(box.currentText()))  # in full if there is too little space
            box.setVisible(len(labels) > 1 and not chosen)

    @Slot(int)
    def _choose_quantization(self, index: int) -> None:
        """Show another quantization with the same drafter if it is on offer."""
        if (one := self._picker.rows.current) is not None:
            offered = [at for at, variant in enumerate(one.variants) if variant.label == one.labels[index]]
            same = [at for at in offered if one.variants[at].drafter == one.shown.drafter]
            self._picker.rows.show_variant((same or offered)[0], one.auto)

    @Slot(int)
    def _choose_drafter(self, index: int) -> None:
        if (one := self._picker.rows.current) is not None:
            first = int(one.automatic is not None)
            self._picker.rows.show_variant(one.alternatives[max(index - first, 0)], auto=index < first)

    def _show_actions(self, one: Candidate, state: PairState) -> None:
        why_busy = self._activity.why_busy
        if state == "absent":
            checking = (one.shown.pair in self._picker.checking and not one.confirmed) or one.is_unchecked
            text = "" if one.why_not else tr("Checking…") if checking else download_text(one.shown)
        else:
            text = {"paused": tr("Resume"), "failed": tr("Resume"), "ready": tr("Use"), "loaded": tr("In use")}.get(state, "")
        self.main.setText(text)
        self.main.setVisible(bool(text))
        self.main.setEnabled(
            state in ("paused", "failed")
            or (state == "absent" and self._picker.can_download)
            or (state == "ready" and not self._loader.running and not why_busy and not one.shown.undivided)
        )
        self.main.setToolTip(as_tooltip(why_busy if state == "ready" else ""))
        in_use = tr("{name} is in use", name=one.name)
        self.main.setAccessibleName(in_use if state == "loaded" else tr("{action}: {name}", action=text, name=one.name))
        self.pause.setVisible(state in ("running", "waiting"))
        self.cancel.setVisible(state in ("running", "waiting", "paused", "failed", "loading"))
        self.cancel.setAccessibleName(
            tr("Cancel loading") if state == "loading" else tr("Cancel the download and delete the partial files")
        )
        self.cancel.setToolTip(self.cancel.accessibleName())
        loaded = self._loader.pair
        self.tune.setVisible(state == "loaded" and loaded is not None and bool(loaded.drafter))
        why_not = why_not_tunable(self._loader)
        self.tune.setEnabled(not why_not)
        self.tune.setToolTip(as_tooltip(why_not))
        self.tune.setAccessibleDescription(why_not)
        self.delete.setVisible(bool(self._picker.deletable))
        kept = tr("Delete the drafter from disk. The target stays where it is.")
        self.delete.setAccessibleName(kept if one.shown.held else tr("Delete this pair from disk"))
        self.delete.setToolTip(as_tooltip(self.delete.accessibleName()))
        self.remove.setVisible(one.custom is not None and state in ("absent", "unavailable", "ready"))

    def _show_progress(self, one: Candidate, state: PairState) -> None:
        download, loading = self._picker.download_of(one), self._loader.progress
        shown = (state == "loading" and loading is not None) or download is not None
        if state == "loading" and loading is not None:
            self.bar.show_fraction(loading.fraction)
            self.progress.setText(f"{translated(loading.step)}…")
        elif download is not None:
            self.bar.show_fraction(download.fraction)
            self.progress.setText(download.text)
        self.bar.setVisible(shown)
        self.bar.setAccessibleDescription(self.progress.text())
        self.progress.setVisible(shown)

    def _show_problem(self, one: Candidate, state: PairState) -> None:
        download = self._picker.download_of(one)
        failed = download is not None and state == "failed"
        problem = one.shown.problem if state == "absent" else None
        reason = one.why_not or (download.note if download is not None and failed else problem)
        text = page = ""
        if reason is None and one.shown.undivided is not None:
            text, page = translated(one.shown.undivided), help_page(one.shown.undivided.code)
        elif reason is not None:
            usual = LOADING_PAGE if one.why_not else "troubleshooting#a-download-stops"
            text, page = translated(reason), help_page(reason.code, usual)
            if reason is problem and reason.code == "hub_unreachable":  # the user has only selected the pair
                text, page = tr("Can't fetch details. Check your network connection."), ""
        elif state == "absent" and one.shown.drafter is not None and one.shown.drafter.gated:
            text = tr("This model is gated: you may have to accept its conditions on the hub first.")
            page = help_page("repo_gated")
        elif one.shown.chat_problem is not None:
            text, page = translated(one.shown.chat_problem), help_page(one.shown.chat_problem.code)
        self.problem.show_text(text, page)
        self.problem.setVisible(bool(text))
        self.problem.set_kind("error" if failed and (reason is None or reason.code not in CODES) else "info")
        self.token.setVisible(reason is not None and needs_token(reason) and state in ("absent", "failed"))
        self.turn_off.setVisible(reason is not None and reason.code == "offline")
        self.again.setVisible(reason is not None and reason is problem)

    @Slot()
    def _act(self) -> None:
        if (one := self._picker.rows.current) is not None:
            (self._picker.use if self._picker.state(one) == "ready" else self._picker.download)()
