"""The pair that is looked at: what it is, one button for what comes next, how it fits, and what else is known."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.conversations.wording import size
from app.language import tr, translated
from app.models import wording
from app.models.candidate import Candidate, State
from app.models.pair_facts import Arithmetic, PairFacts, facts_of
from app.models.picker import Picker
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.progress_bar import ThinBar
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.pairs.hub_errors import needs_token


def _main_words() -> dict[State, str]:
    return {"paused": tr("Resume"), "failed": tr("Resume"), "ready": tr("Use"), "loaded": tr("In Use")}


LINE = 640  # widest line of text


class PairCard(QScrollArea):
    """Download, then Ready, then Use: one button. What may be done besides stands quietly beside it."""

    def __init__(self, theme: Theme, picker: Picker, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker, self._conductor = picker, conductor
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("The pair that is selected"))
        self.title = Label()
        self.title.setWordWrap(True)
        theme.set_font(self.title, 1.4, bold=True)
        self.bits = QComboBox()
        self.bits.setAccessibleName(tr("Quantisation"))
        theme.set_font(self.bits, SMALL)
        self.bits.activated.connect(picker.choose)
        self.verdict = Label()
        theme.set_font(self.verdict, SMALL)
        self.tested = Label(tr("Not confirmed"))
        theme.set_font(self.tested, SMALL)
        self.tested.setToolTip(tr("Nobody vouches for these repos. The hub is asked before anything is offered."))
        set_look(self.tested, "chip")
        chips = QHBoxLayout()
        chips.setSpacing(8)
        for chip in (self.verdict, self.tested):
            chips.addWidget(chip)
        chips.addStretch(1)
        self.main = button("", "", "primary")
        self.main.setMinimumHeight(32)
        self.main.clicked.connect(self._act)
        self.pause = button(tr("Pause"), tr("Pause the download"), "bordered")
        self.pause.clicked.connect(picker.pause)
        self.cancel = button(tr("Cancel"), tr("Cancel"), "bordered")
        self.cancel.clicked.connect(picker.cancel)
        self.delete = button(tr("Delete"), tr("Delete this pair from the disk"), "bordered")
        self.delete.clicked.connect(picker.delete)
        self.forget = button(tr("Remove from List"), tr("Remove this pair from the list; its files stay"), "bordered")
        self.forget.clicked.connect(picker.forget)
        actions = QHBoxLayout()
        actions.setSpacing(8)
        for widget in (self.main, self.bits, self.pause, self.cancel, self.delete, self.forget):
            actions.addWidget(widget)
        actions.addStretch(1)
        self.bar = ThinBar(theme, tr("Progress"))
        self.progress = Label()
        self.progress.setWordWrap(True)
        theme.set_font(self.progress, SMALL)
        set_look(self.progress, "secondary")
        self.trouble = Label()
        self.trouble.setWordWrap(True)
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme.set_font(self.trouble, SMALL)
        self.again = button(tr("Ask Again"), tr("Ask the hub again"), "bordered")
        self.again.clicked.connect(picker.ask_again)
        self.token = button(tr("Token…"), tr("Give a token of your account"), "bordered")
        self._panel = QFrame()
        inside = QHBoxLayout(self._panel)
        inside.setContentsMargins(16, 8, 16, 8)
        inside.setSpacing(16)
        inside.addWidget(self.trouble, 1)
        inside.addWidget(self.token, 0, Qt.AlignmentFlag.AlignTop)
        inside.addWidget(self.again, 0, Qt.AlignmentFlag.AlignTop)
        self.arithmetic = Arithmetic(theme)
        self.facts = PairFacts(theme)
        page = QWidget()
        page.setMaximumWidth(LINE + 48)
        column = QVBoxLayout(page)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(16)
        column.addWidget(self.title)
        column.addLayout(chips)
        column.addLayout(actions)
        column.addWidget(self.bar)
        column.addWidget(self.progress)
        column.addWidget(self._panel)
        column.addWidget(self.arithmetic)
        line = QFrame()
        set_look(line, "hairline")
        column.addWidget(line)
        column.addWidget(self.facts)
        column.addStretch(1)
        self._page = page
        self.setWidget(page)
        picker.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the picker's current pair."""
        one = self._picker.current
        self._page.setVisible(one is not None)
        if one is None:
            return
        state = self._picker.state(one)
        self.title.setText(one.name)
        self.verdict.setText(tr("Cannot be run yet") if one.why_not else wording.verdict_names()[one.verdict])
        set_look(self.verdict, "chip-accent" if one.verdict in ("comfortable", "tight") and not one.why_not else "chip")
        self.tested.setVisible(not one.confirmed and not one.why_not and not one.shown.asked and not one.shown.folders)
        self._show_bits(one, state)
        self._show_actions(one, state)
        self._show_progress(one, state)
        self._show_trouble(one, state)
        self.arithmetic.setVisible(not one.why_not)
        self.arithmetic.show_fit(one.shown.fit, one.shown.estimated)
        self.facts.show_facts(facts_of(one, self._picker.measured_machine))

    def _show_bits(self, one: Candidate, state: State) -> None:
        labels = [choice.label for choice in one.choices]
        if [self.bits.itemText(place) for place in range(self.bits.count())] != labels:
            self.bits.clear()
            self.bits.addItems(labels)
        self.bits.setCurrentIndex(one.choice)
        self.bits.setVisible(len(labels) > 1 and state not in ("waiting", "running", "loading"))

    def _show_actions(self, one: Candidate, state: State) -> None:
        text = _main_words().get(state, "")
        asking = one.shown.pair in self._picker.asking
        if state == "absent":
            text = tr("Asking the hub…") if asking and not one.confirmed else _download(one)
        self.main.setText(text)
        named = tr("{name} is in use", name=one.name) if state == "loaded" else tr("{action}: {name}", action=text, name=one.name)
        self.main.setAccessibleName(named)
        self.main.setVisible(bool(text) and not (state == "absent" and one.why_not))
        self.main.setEnabled(
            state in ("paused", "failed")
            or (state == "absent" and self._picker.may_download)
            or (state == "ready" and self._conductor.loader.progress is None and not self._conductor.busy)
        )
        self.main.setToolTip(tr("A reply is still being written.") if state == "ready" and self._conductor.busy else "")
        self.pause.setVisible(state in ("running", "waiting"))
        self.cancel.setVisible(state in ("running", "waiting", "paused", "failed", "loading"))
        self.cancel.setAccessibleName(
            tr("Cancel loading") if state == "loading" else tr("Cancel the download and remove what came")
        )
        self.cancel.setToolTip(self.cancel.accessibleName())
        self.delete.setVisible(bool(self._picker.deletable))
        self.forget.setVisible(one.own is not None and state in ("absent", "unavailable", "ready"))

    def _show_progress(self, one: Candidate, state: State) -> None:
        transfer, loading = self._picker.transfer(one), self._conductor.loader.progress
        if state == "loading" and loading is not None:
            self.bar.show_fraction(loading.fraction)
            self.progress.setText(f"{translated(loading.step)}…")
        elif transfer is not None:
            self.bar.show_fraction(transfer.done / transfer.total if transfer.total else 0.0)
            self.progress.setText(wording.progress(transfer) if state != "failed" else tr("Stopped; what came is kept."))
        shown = (state == "loading" and loading is not None) or transfer is not None
        self.bar.setVisible(shown)
        self.bar.setAccessibleDescription(self.progress.text())
        self.progress.setVisible(shown)

    def _show_trouble(self, one: Candidate, state: State) -> None:
        transfer = self._picker.transfer(one)
        trouble = one.shown.trouble if state == "absent" else None
        reason = one.why_not or (transfer.words if transfer is not None and state == "failed" else trouble)
        text = translated(reason) if reason else ""
        if not text and state == "absent" and one.gated:
            text = tr("Its owner wants conditions accepted before the download: Slipstream says where, should the hub refuse.")
        self.trouble.setText(text)
        self._panel.setVisible(bool(text))
        set_look(self._panel, "error" if reason is one.shown.trouble or state == "failed" else "notice")
        self.token.setVisible(reason is not None and needs_token(reason) and state in ("absent", "failed"))
        self.again.setVisible(reason is not None and reason is trouble)

    @Slot()
    def _act(self) -> None:
        one = self._picker.current
        if one is not None:
            (self._picker.use if self._picker.state(one) == "ready" else self._picker.download)()


def _download(one: Candidate) -> str:
    """The button's word, with what is to be fetched where that is known."""
    shown = one.shown
    if shown.missing:
        return tr("Download {size}", size=size(shown.missing))
    if shown.missing is None and shown.size:
        return tr("Download about {size}", size=size(shown.size))
    return tr("Download")
