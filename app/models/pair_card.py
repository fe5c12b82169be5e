"""The selected pair: one main button, memory, and facts."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QFrame, QScrollArea, QWidget

from app.chat.conductor import Conductor
from app.conversations.wording import size
from app.language import tr, translated
from app.models import wording
from app.models.candidate import Candidate, PairState, Variant
from app.models.pair_facts import FactTable, MemoryDetails, facts_of
from app.models.picker import Picker
from app.widgets.controls import ThinBar, button, small_label, styled_label
from app.widgets.layout import column, line, row
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.pairs.hub import needs_token

MAX_WIDTH = 688


class PairCard(QScrollArea):
    """The main button downloads, resumes, or loads the pair."""

    def __init__(self, theme: Theme, picker: Picker, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker, self._conductor = picker, conductor
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Selected pair"))
        self.title = styled_label(theme, size=1.4, bold=True, wrap=True)
        self.variants = QComboBox()
        self.variants.setAccessibleName(tr("Quantization"))
        theme.set_font(self.variants, SMALL)
        self.variants.activated.connect(picker.show_variant)
        self.verdict = small_label(theme)
        self.unconfirmed = small_label(theme, tr("Not verified"), "chip")
        self.unconfirmed.setToolTip(tr("Not verified by Slipstream"))
        self.main = button("", "", "primary", self._act)
        self.main.setMinimumHeight(32)
        self.pause = button(tr("Pause"), tr("Pause the download"), "bordered", picker.pause)
        self.cancel = button(tr("Cancel"), "", "bordered", picker.cancel)
        self.delete = button(tr("Remove Download"), tr("Delete this pair from the disk"), "bordered", picker.delete)
        self.remove = button(
            tr("Remove from List"), tr("Remove this pair from the list and keep its files"), "bordered", picker.remove
        )
        self.bar = ThinBar(theme, tr("Progress"))
        self.progress = small_label(theme, look="secondary", wrap=True)
        self.problem = small_label(theme, wrap=True, selectable=True)
        self.again = button(tr("Try Again"), tr("Check the hub again"), "bordered", picker.check_hub)
        self.token = button(tr("Enter Token…"), tr("Enter a hub token"), "bordered")
        self._panel = QFrame()
        top = Qt.AlignmentFlag.AlignTop
        row((self.problem, 1), (self.token, 0, top), (self.again, 0, top), spacing=16, margins=(16, 8, 16, 8), parent=self._panel)
        self.memory = MemoryDetails(theme)
        self.facts = FactTable(theme)
        self._page = QWidget()
        self._page.setMaximumWidth(MAX_WIDTH)
        column(
            self.title,
            row(self.verdict, self.unconfirmed, None),
            row(self.main, self.variants, self.pause, self.cancel, self.delete, self.remove, None),
            self.bar,
            self.progress,
            self._panel,
            self.memory,
            line(),
            self.facts,
            None,
            spacing=16,
            margins=(24, 24, 24, 24),
            parent=self._page,
        )
        self.setWidget(self._page)
        picker.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the selected pair."""
        one = self._picker.current
        self._page.setVisible(one is not None)
        if one is None:
            return
        state = self._picker.state(one)
        self.title.setText(one.name)
        self.verdict.setText(wording.verdict(one))
        set_look(self.verdict, "chip-accent" if one.verdict in ("comfortable", "tight") and not one.why_not else "chip")
        self.unconfirmed.setVisible(not one.confirmed and not one.why_not and not one.shown.checked and not one.shown.folders)
        self._show_variants(one, state)
        self._show_actions(one, state)
        self._show_progress(one, state)
        self._show_problem(one, state)
        self.memory.setVisible(not one.why_not)
        self.memory.show_fit(one.shown.fit, one.shown.estimated)
        self.facts.show_facts(facts_of(one, self._picker.machine_measured))

    def _show_variants(self, one: Candidate, state: PairState) -> None:
        labels = [variant.label for variant in one.variants]
        if [self.variants.itemText(index) for index in range(self.variants.count())] != labels:
            self.variants.clear()
            self.variants.addItems(labels)
        self.variants.setCurrentIndex(one.index)
        self.variants.setVisible(len(labels) > 1 and state not in ("waiting", "running", "loading"))

    def _show_actions(self, one: Candidate, state: PairState) -> None:
        busy = self._conductor.busy
        if state == "absent":
            checking = one.shown.pair in self._picker.checking and not one.confirmed
            text = "" if one.why_not else tr("Checking…") if checking else _download(one.shown)
        else:
            text = {"paused": tr("Resume"), "failed": tr("Resume"), "ready": tr("Use"), "loaded": tr("In Use")}.get(state, "")
        self.main.setText(text)
        self.main.setVisible(bool(text))
        self.main.setEnabled(
            state in ("paused", "failed")
            or (state == "absent" and self._picker.can_download)
            or (state == "ready" and not self._conductor.loader.running and not busy)
        )
        self.main.setToolTip(tr("Wait for the reply to finish.") if state == "ready" and busy else "")
        in_use = tr("{name} is in use", name=one.name)
        self.main.setAccessibleName(in_use if state == "loaded" else tr("{action}: {name}", action=text, name=one.name))
        self.pause.setVisible(state in ("running", "waiting"))
        self.cancel.setVisible(state in ("running", "waiting", "paused", "failed", "loading"))
        self.cancel.setAccessibleName(
            tr("Cancel loading") if state == "loading" else tr("Cancel the download and delete the partial files")
        )
        self.cancel.setToolTip(self.cancel.accessibleName())
        self.delete.setVisible(bool(self._picker.deletable))
        self.remove.setVisible(one.custom is not None and state in ("absent", "unavailable", "ready"))

    def _show_progress(self, one: Candidate, state: PairState) -> None:
        download, loading = self._picker.download_of(one), self._conductor.loader.progress
        shown = (state == "loading" and loading is not None) or download is not None
        if state == "loading" and loading is not None:
            self.bar.show_fraction(loading.fraction)
            self.progress.setText(f"{translated(loading.step)}…")
        elif download is not None:
            self.bar.show_fraction(download.fraction)
            self.progress.setText(wording.progress(download))
        self.bar.setVisible(shown)
        self.bar.setAccessibleDescription(self.progress.text())
        self.progress.setVisible(shown)

    def _show_problem(self, one: Candidate, state: PairState) -> None:
        download = self._picker.download_of(one)
        failed = download is not None and state == "failed"
        problem = one.shown.problem if state == "absent" else None
        reason = one.why_not or (download.note if download is not None and failed else problem)
        text = translated(reason) if reason else ""
        if not text and state == "absent" and one.entry is not None and one.entry.gated:
            text = tr("This model is gated: you may have to accept its conditions on the hub first.")
        self.problem.setText(text)
        self._panel.setVisible(bool(text))
        set_look(self._panel, "error" if failed or (reason is not None and reason is problem) else "notice")
        self.token.setVisible(reason is not None and needs_token(reason) and state in ("absent", "failed"))
        self.again.setVisible(reason is not None and reason is problem)

    @Slot()
    def _act(self) -> None:
        if (one := self._picker.current) is not None:
            (self._picker.use if self._picker.state(one) == "ready" else self._picker.download)()


def _download(shown: Variant) -> str:
    if shown.to_download:
        return tr("Download {size}", size=size(shown.to_download))
    if shown.to_download is None and shown.size:
        return tr("Download about {size}", size=size(shown.size))
    return tr("Download")
