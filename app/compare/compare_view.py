"""The same prompt answered plainly and with DFlash, side by side, with the verdict under it."""

import json
import re
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QComboBox, QDialog, QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.compare.compare_figures import MODES, CompareFigures
from app.compare.compare_history import CompareHistory
from app.compare.compare_side import CompareSide
from app.compare.comparison_card import card, png
from app.compare.comparison_job import Comparison
from app.conversations import wording
from app.conversations.chat_tree import Turn, messages_before_prompt
from app.conversations.comparison_record import ComparisonRecord, verdict_on
from app.conversations.difference import difference_between
from app.conversations.reply import Reply
from app.language import tr, translated
from app.transcript.message import NoticeView
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.save_dialog import ask_save_path, file_name
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.requests import Mode

REPEATS = (1, 3, 5, 9)
USUAL = QSize(1000, 720)
PROMPT_LINES = 2
LONGEST = 10_000  # characters of a prompt that are shown


class CompareDialog(QDialog):
    """Asks, follows a comparison while it runs, and shows earlier ones. Closing it ends the comparison that runs."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._conductor = conductor
        self.comparison: Comparison | None = None
        self.record: ComparisonRecord | None = None
        self._turn: Turn | None = None
        self._long = ""
        self.setWindowTitle(tr("Compare"))
        self.setAccessibleName(tr("Compare plain decoding with DFlash"))
        self.resize(USUAL if parent is None else USUAL.boundedTo(parent.window().size() * 1.2))

        self.prompt = _Prompt(theme)
        self.prompt.textChanged.connect(self._show_state)
        self.repeats = QComboBox()
        self.repeats.setAccessibleName(tr("Runs of each mode"))
        theme.set_font(self.repeats, SMALL)
        for count in REPEATS:
            self.repeats.addItem(tr("1 run each") if count == 1 else tr("{count} runs each", count=count), count)
        self.run_button = button(tr("Compare"), tr("Compare"), "bordered")
        self.run_button.clicked.connect(self._run_or_stop)
        self.run_button.setAutoDefault(False)
        self.prompt.submitted.connect(self._run)
        ask = QHBoxLayout()
        ask.setSpacing(8)
        ask.addWidget(self.prompt, 1)
        ask.addWidget(self.repeats, 0, Qt.AlignmentFlag.AlignTop)
        ask.addWidget(self.run_button, 0, Qt.AlignmentFlag.AlignTop)
        self.how = Label()
        theme.set_font(self.how, SMALL)
        self.how.setWordWrap(True)
        set_look(self.how, "secondary")

        self.sides: dict[Mode, CompareSide] = {mode: CompareSide(theme, mode) for mode in MODES}
        columns = QHBoxLayout()
        columns.setSpacing(20)
        columns.addWidget(self.sides["plain"], 1)
        columns.addWidget(_line("upright"))
        columns.addWidget(self.sides["dflash"], 1)

        self.figures = CompareFigures(theme)
        self.headline = Label()
        theme.set_font(self.headline, 1.3, bold=True)
        self.headline.setAccessibleName(tr("Result"))
        self.verdict = Label()
        self.verdict.setAccessibleName(tr("Verdict"))
        set_look(self.verdict, "secondary")
        for label in (self.headline, self.verdict):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.error = NoticeView(theme, "", "error")
        self.error.hide()

        self.history_button = button(tr("History"), tr("Show or hide earlier comparisons"))
        self.history_button.setCheckable(True)
        self.save_button = button(tr("Save Figures…"), tr("Save this comparison as JSON"))
        self.save_button.clicked.connect(self._save_figures)
        self.picture_button = button(tr("Save Picture…"), tr("Save a picture of this comparison"))
        self.picture_button.clicked.connect(self._save_picture)
        self.copy_button = button(tr("Copy Picture"), tr("Copy a picture of this comparison"))
        self.copy_button.clicked.connect(self.copy_picture)
        self.close_button = button(tr("Close"), tr("Close"), "bordered")
        self.close_button.clicked.connect(self.reject)
        self.told = Label()
        theme.set_font(self.told, SMALL)
        set_look(self.told, "faint")
        foot = QHBoxLayout()
        foot.setSpacing(4)
        foot.addWidget(self.history_button)
        foot.addWidget(self.told, 1)
        for made in (self.save_button, self.copy_button, self.picture_button, self.close_button):
            foot.addWidget(made)

        page = QVBoxLayout()
        page.setSpacing(12)
        page.addLayout(ask)
        page.addWidget(self.how)
        page.addLayout(columns, 1)
        page.addWidget(self.error)
        page.addWidget(_line("hairline"))
        page.addWidget(self.figures)
        page.addWidget(self.headline)
        page.addWidget(self.verdict)
        page.addLayout(foot)
        self.history = CompareHistory(theme, conductor.comparisons)
        self.history.hide()
        self.history.chosen.connect(self.show_record)
        self.history_button.toggled.connect(self.history.setVisible)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(24, 20, 24, 16)
        whole.setSpacing(20)
        whole.addWidget(self.history)
        whole.addLayout(page, 1)
        conductor.busy_changed.connect(self._show_state)
        conductor.pair_changed.connect(self._show_state)
        conductor.comparisons.told.connect(self.told.setText)
        self._show_state()

    # What is compared

    @Slot(object)
    def follow(self, comparison: Comparison) -> None:
        """Show a comparison that has begun."""
        self.comparison, self.record, self._turn = comparison, None, comparison.turn
        if comparison.prompt != self._wanted:
            self._show_prompt(comparison.prompt)
        for side in self.sides.values():
            side.clear()
        self.error.hide()
        self.told.clear()
        comparison.changed.connect(self.refresh)
        self.refresh()

    @Slot(object)
    def show_record(self, record: ComparisonRecord) -> None:
        """Show one that was made before."""
        if self.comparison is not None and self.comparison.running:
            return
        self.comparison, self._turn = None, None
        self.error.hide()
        self._show_prompt(record.prompt)
        self._show_result(record)
        self._show_state()

    def _show_prompt(self, prompt: str) -> None:
        """Put a prompt into the field; of a very long one its beginning, which stands for all of it until it is changed."""
        self._long = prompt if len(prompt) > LONGEST else ""
        self.prompt.setPlainText(_beginning(prompt))

    @property
    def _wanted(self) -> str:
        """The prompt that the field stands for."""
        shown = self.prompt.toPlainText()
        return self._long.strip() if self._long and shown == _beginning(self._long) else shown.strip()

    @property
    def running(self) -> bool:
        return self.comparison is not None and self.comparison.running

    @Slot()
    def _run_or_stop(self) -> None:
        if self.running:
            self._conductor.stop()
        else:
            self._run()

    @Slot()
    def _run(self) -> None:
        prompt, repeats = self._wanted, self.repeats.currentData()
        if self._turn is not None and prompt == self._turn.prompt.strip():
            self._conductor.compare_turn(self._turn, repeats)
        else:
            self._turn = None
            self._conductor.compare_prompt(prompt, repeats)

    # What is shown

    @Slot()
    def refresh(self) -> None:
        """Draw what is new."""
        state = self.comparison
        if state is None:
            return
        if state.record is not self.record or state.record is None:
            for mode, reply in state.replies.items():
                self.sides[mode].show_reply(reply)
        if state.record is None:
            self.figures.show_running(state.replies, state.runs)
            self._tell(*_progress(state))
            if state.error:
                self.error.label.setText(state.error)
                self.error.show()
        elif state.record is not self.record:
            self._show_result(state.record)
        self._show_state()

    def _show_result(self, record: ComparisonRecord) -> None:
        self.record = record
        difference = difference_between(record.plain, record.dflash)
        for mode, side in self.sides.items():
            ran = record.side(mode)
            if self.comparison is None or side.shown != (ran.thinking, ran.text):  # of several runs another may have been the last
                side.show_reply(Reply(mode, record.max_tokens, ran.text, ran.thinking, reason=ran.reason, stats=ran.stats))
            side.mark(difference)
        self.figures.show_record(record)
        self._tell(*verdict_on(record))

    def _tell(self, headline: str, verdict: str) -> None:
        self.headline.setText(headline)
        self.verdict.setText(verdict)
        self.verdict.setVisible(bool(verdict))

    @Slot()
    def _show_state(self) -> None:
        prompt = self._wanted
        self.run_button.setText(tr("Stop") if self.running else tr("Compare"))
        self.run_button.setAccessibleName(tr("Stop comparing") if self.running else tr("Compare"))
        self.run_button.setEnabled(self.running or (bool(prompt) and self._conductor.can_compare))
        self.prompt.setReadOnly(self.running)
        self.repeats.setEnabled(not self.running)
        self.how.setText(self._how(prompt))
        for made in (self.save_button, self.copy_button, self.picture_button):
            made.setEnabled(self.record is not None and not self.running)
        if self.comparison is None and self.record is None:
            self._tell("", "")

    def _how(self, prompt: str) -> str:
        if not self.running and not self._conductor.can_compare:
            if self._conductor.busy:
                return tr("A reply is being written; a comparison needs the machine for itself. Wait for its end, or stop it.")
            pair = self._conductor.pair
            return (
                tr("DFlash is not available: {why_plain}", why_plain=translated(pair.why_plain))
                if pair and pair.why_plain
                else tr("No models are loaded, so nothing can be compared.")
            )
        same = tr("One after the other, never at the same time, with the same seed and settings.")
        if self._turn is None or prompt != self._turn.prompt.strip():
            return same
        before = messages_before_prompt(self._turn.request)
        return same + (
            tr(" After the {before} message{before_2} that stood before it.", before=before, before_2="" if before == 1 else "s")
            if before > 0
            else ""
        )

    # What is taken away

    @Slot()
    def copy_picture(self) -> None:
        """Put the picture on the clipboard."""
        if self.record is not None:
            QGuiApplication.clipboard().setImage(card(self._theme, self.record))
            self.told.setText(tr("The picture is on the clipboard."))

    @Slot()
    def _save_picture(self) -> None:
        if self.record is not None and (file := self._ask_file(tr("Save Picture"), ".png", tr("Picture (*.png)"))):
            self._conductor.comparisons.save(png(card(self._theme, self.record)), file)

    @Slot()
    def _save_figures(self) -> None:
        if self.record is not None and (file := self._ask_file(tr("Save Figures"), ".json", tr("JSON (*.json)"))):
            self._conductor.comparisons.save(json.dumps(self.record.to_json(), ensure_ascii=False, indent=1) + "\n", file)

    def _ask_file(self, title: str, ending: str, kind: str) -> Path | None:
        assert self.record is not None
        stem = file_name(" ".join(re.findall(r"\w+", self.record.prompt[:200]))[:40], tr("comparison"))
        return ask_save_path(self, title, tr("Compare {stem}", stem=stem), {ending: kind})

    def done(self, result: int) -> None:
        if self.running:
            self._conductor.stop()
        super().done(result)


def _beginning(prompt: str) -> str:
    return prompt if len(prompt) <= LONGEST else f"{prompt[:LONGEST].rstrip()} …"


def _progress(state: Comparison) -> tuple[str, str]:
    """A headline and the sentence under it, while there is no result."""
    if state.error:
        return tr("The comparison could not be finished"), ""
    if state.cancelled:
        return tr("Stopped"), ""
    if state.now is None:
        return tr("Comparing…"), ""
    run = tr(", run {index} of {total}", index=state.now.index // 2 + 1, total=state.now.total // 2) if state.now.total > 2 else ""
    return tr("Comparing…"), tr("Now: {mode_names}{run}", mode_names=wording.mode_names()[state.now.mode], run=run)


def _line(kind: str) -> QFrame:
    made = QFrame()
    set_look(made, kind)
    return made


class _Prompt(QPlainTextEdit):
    """A few lines. Enter compares, Shift+Enter begins a line, Tab goes on to the next control."""

    submitted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setAccessibleName(tr("Prompt"))
        self.setPlaceholderText(tr("What shall both answer?"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(4)
        self.setFixedHeight(PROMPT_LINES * self.fontMetrics().lineSpacing() + 14)
        set_look(self, "field")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
            self.submitted.emit()
        else:
            super().keyPressEvent(event)
