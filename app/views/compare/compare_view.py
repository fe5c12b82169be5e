"""The Compare window: two replies side by side, and everyone's figures."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QComboBox, QDialog, QFrame, QPlainTextEdit, QWidget

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.compare_run import CompareRun, ComparisonHistory
from app.session.comparer import Comparer
from app.session.help_pages import help_page
from app.session.pair_session import PairLoader
from app.storage.attachments import Attachment, unread
from app.storage.chat_tree import Turn
from app.storage.comparison_record import ComparisonRecord, ComparisonRow, difference_between, row_names, verdict_on
from app.storage.reply import Reply
from app.storage.wording import not_read
from app.text.language import number, sentences, tr
from app.views.compare.compare_options import CompareOptions
from app.views.compare.compare_side import CompareFigures, CompareSide
from app.views.compare.comparison_card import card
from app.views.compare.history_list import HistoryList
from app.views.pictures.pdf_dialog import open_pages
from app.views.pictures.picture_row import PictureRow, pictures_of
from app.views.transcript.attachment_chips import AttachmentChips
from app.widgets.controls import button, small_label, styled_label
from app.widgets.layout import NoticeView, ScrollingPage, column, line, row
from app.widgets.save_dialog import ask_save_path, file_name, png
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.contract.requests import BOTH_MODES, LoadPair
from mlx_engine.models.library.pair import demo_pair

REPEATS = (1, 3, 5, 9)
PICTURE = QSize(160, 90)  # in which each picture of the prompt fits
DEFAULT_SIZE = QSize(1000, 720)
PROMPT_LINES = 2
PROMPT_MARGIN = 8
REPLIES_HEIGHT = 260  # minimum; a smaller window scrolls
MAX_SHOWN = 10_000  # characters of the prompt


class CompareDialog(QDialog):
    """A window that runs comparisons and shows earlier ones. Closing it stops the run."""

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        comparer: Comparer,
        comparisons: ComparisonHistory,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._session, self._activity, self._loader = theme, session, activity, loader
        self._comparer, self._comparisons = comparer, comparisons
        self.comparison: CompareRun | None = None
        self.record: ComparisonRecord | None = None
        self._turn: Turn | None = None
        self._long_prompt = ""
        self.setWindowTitle(tr("Compare"))
        self.setAccessibleName(tr("Compare plain decoding with DFlash"))
        self.resize(DEFAULT_SIZE)

        self.prompt = _PromptField()
        self.prompt.textChanged.connect(self._show_state)
        self.prompt.submitted.connect(self._run)
        self.pictures = PictureRow(theme, room=PICTURE)
        self.pictures.hide()
        self.files = AttachmentChips(theme, editable=False)
        self.files.pages_requested.connect(self._open_pages)
        self.files_note = small_label(theme, look="secondary", wrap=True)
        self.files_note.setAccessibleName(tr("Note"))
        self.files_note.hide()
        self.repeats = QComboBox()
        self.repeats.setAccessibleName(tr("Runs per mode"))
        theme.set_font(self.repeats, SMALL)
        for count in REPEATS:
            self.repeats.addItem(tr("1 run each") if count == 1 else tr("{count} runs each", count=count), count)
        self.options = CompareOptions(theme, session, activity, loader, comparer)
        self.options.changed.connect(self._show_state)
        self.run_button = button(tr("Compare"), look="bordered", clicked=self._run_or_stop)
        self.run_button.setAutoDefault(False)
        self.sides = CompareSide(theme, "plain"), CompareSide(theme, "dflash")
        self.figures = CompareFigures(theme, [ComparisonRow(one.proposer) for one in BOTH_MODES])
        self.headline = styled_label(theme, size=1.9, bold=True, wrap=True, selectable=True)
        self.headline.setAccessibleName(tr("Result"))
        self.verdict = styled_label(theme, look="secondary", wrap=True, selectable=True)
        self.verdict.setAccessibleName(tr("Verdict"))
        self.use_button = button("", tr("Use the fastest drafter"), "bordered", self._use_fastest)
        self.use_button.setAutoDefault(False)
        self.error = NoticeView("", "error")
        self.error.hide()
        self.history = HistoryList(theme, comparisons)
        self.history.hide()
        self.history.chosen.connect(self.show_record)
        self.history_button = button(tr("History"), tr("Show or hide earlier comparisons"))
        self.history_button.setCheckable(True)
        self.history_button.toggled.connect(self.history.setVisible)
        self.save_button = button(tr("Save Results…"), tr("Save this comparison as JSON"), clicked=self._save_results)
        self.copy_button = button(tr("Copy Image"), tr("Copy an image of this comparison"), clicked=self.copy_image)
        self.image_button = button(tr("Save Image…"), tr("Save an image of this comparison"), clicked=self._save_image)
        close = button(tr("Close"), look="bordered", clicked=self.reject)
        self.status = small_label(theme, look="faint", elided=True)

        exports = (self.save_button, self.copy_button, self.image_button)
        self._replies = QWidget()
        row((self.sides[0], 1), line("upright"), (self.sides[1], 1), spacing=20, parent=self._replies)
        self._replies.setMinimumHeight(REPLIES_HEIGHT)
        self._table = column(self.figures)
        result = (self.headline, self.verdict, row(self.use_button, None), self._table)
        page = column(
            self.pictures,
            self.files,
            self.files_note,
            row((self.prompt, 1), column(row(self.repeats, self.run_button), None)),
            (ScrollingPage(column(self.options, self.error, *result, line(), (self._replies, 1), spacing=12)), 1),
            spacing=12,
        )
        footer = row(self.history_button, (self.status, 1), *exports, close, spacing=4)
        column((row(self.history, (page, 1), spacing=20), 1), footer, spacing=12, margins=(24, 20, 24, 16), parent=self)
        for signal in (activity.changed, session.turns_changed):
            signal.connect(self._show_state)
        loader.loaded.connect(self._find_drafters)
        for signal in (loader.loaded, loader.changed, loader.drafters_found):
            signal.connect(self._show_state)
        self._find_drafters()
        comparisons.message.connect(self.status.setText)
        self._show_state()

    # Comparison

    @Slot()
    def _find_drafters(self) -> None:
        self._loader.find_drafters()

    @Slot(object)
    def follow(self, comparison: CompareRun) -> None:
        """Show a comparison that has started."""
        self.comparison, self.record, self._turn = comparison, None, comparison.turn
        if comparison.prompt != self._full_prompt:
            self._show_prompt(comparison.prompt)
        for side in self.sides:
            side.clear()
        self._renew_table(comparison.rows, not comparison.request.together)
        self.error.hide()
        self.status.clear()
        comparison.changed.connect(self.refresh)
        self.refresh()

    @Slot(object)
    def show_record(self, record: ComparisonRecord) -> None:
        """Show an earlier comparison, unless one is running."""
        if self.running:
            return
        self.comparison, self._turn = None, None
        self._renew_table(record.rows, not record.together)
        self.error.hide()
        self._show_prompt(record.prompt)
        self._show_result(record)
        self._show_state()

    def _renew_table(self, rows: Sequence[ComparisonRow], comparable: bool) -> None:
        """Replace the table by one for these contestants."""
        self.figures.hide()
        self.figures.deleteLater()
        self.figures = CompareFigures(self._theme, rows, comparable)
        self._table.addWidget(self.figures)

    def _show_prompt(self, prompt: str) -> None:
        """Show a prompt in the field, truncated if it is very long."""
        self._long_prompt = prompt if len(prompt) > MAX_SHOWN else ""
        self.prompt.setPlainText(_beginning(prompt))

    @property
    def _full_prompt(self) -> str:
        """The full prompt, even if the field shows a truncated one that wasn't edited."""
        shown = self.prompt.toPlainText()
        return self._long_prompt.strip() if self._long_prompt and shown == _beginning(self._long_prompt) else shown.strip()

    @property
    def running(self) -> bool:
        return self.comparison is not None and self.comparison.running

    @property
    def _repeated(self) -> Turn | None:
        """The turn that the next comparison repeats, if its prompt is unchanged."""
        return self._turn if self._turn is not None and self._full_prompt == self._turn.prompt.strip() else None

    @Slot()
    def _run_or_stop(self) -> None:
        if self.running:
            self._activity.stop_comparison()
        else:
            self._run()

    @Slot()
    def _run(self) -> None:
        options = self.options.chosen(self.repeats.currentData())
        if self.options.on_several:
            self._comparer.compare_turns(self.options.last_turns, options)
        elif (turn := self._repeated) is not None:
            self._comparer.compare_turns([turn], options)
        else:
            self._turn = None
            self._comparer.compare_prompt(self._full_prompt, options)

    @property
    def _fastest(self) -> LoadPair | None:
        """The pair of the fastest drafter that was compared, once this is known."""
        outcome = self.comparison.outcome if self.comparison is not None and self.comparison.of_drafters else None
        return outcome.fastest.contestant.pair if outcome is not None and outcome.fastest is not None else None

    @property
    def _fastest_pair(self) -> LoadPair | None:
        """The compared target with its fastest drafter, unless it is in use."""
        state, loader, fastest = self.comparison, self._loader, self._fastest
        if state is None or fastest is None or loader.sent_to or state.here.target != loader.here.target:
            return None
        folders = fastest.target, fastest.drafter
        target, drafter = (None, None) if folders == demo_pair() else folders
        found = replace(state.here, target=target, drafter=drafter, auto=False)
        in_use = loader.loaded_from or loader.loading_from or loader.here
        return found if found != replace(in_use, auto=False) else None

    @Slot()
    def _use_fastest(self) -> None:
        if (pair := self._fastest_pair) is not None:
            self._activity.use(pair)

    # Display

    @Slot()
    def refresh(self) -> None:
        state = self.comparison
        if state is None:
            return
        if state.record is None or state.record is not self.record:
            rows, names = state.rows, row_names(state.rows)
            for side, at in zip(self.sides, (0, state.latest), strict=True):
                side.show_name(names[at] if state.names or state.of_drafters else "")
                if (reply := state.replies[at]) is not None:
                    side.show_reply(reply)
            if state.record is not None:
                self._show_result(state.record)
            else:
                self.figures.show_rows(rows)
                self._show_headline(*_progress(state))
                self._show_error(state.error, help_page(state.error_code))
        self._show_state()

    def _show_error(self, error: str, page: str) -> None:
        self.error.show_text(error, page)
        self.error.setVisible(bool(error))

    def _show_result(self, record: ComparisonRecord) -> None:
        self.record = record
        if record.prompt != self._full_prompt:  # the replies of an earlier prompt may differ
            self._show_prompt(record.prompt)
        names, are_named = row_names(record.rows), record.of_drafters or bool(record.rows[0].name)
        self.figures.show_rows(record.rows, record.fastest)
        headline, verdict = verdict_on(record)
        runs = tr("Median of {repeats} runs each", repeats=number(record.repeats))
        self._show_headline(headline, sentences(verdict, runs if record.repeats > 1 and record.ratio is not None else ""))
        difference = difference_between(*record.replies)
        for side, at, shown in zip(self.sides, (0, record.shown), record.replies, strict=True):
            side.show_name(names[at] if are_named else "")
            if self.comparison is None or side.shown != (shown.thinking, shown.text):  # the record may hold an earlier reply
                mode = shown.stats.mode if are_named else side.mode
                side.show_reply(Reply(mode, record.max_tokens, shown.text, shown.thinking, reason=shown.reason, stats=shown.stats))
            side.mark(difference)
            if difference is None:
                side.show_start()

    def _show_headline(self, headline: str, verdict: str) -> None:
        self.headline.setText(headline)
        self.headline.setVisible(bool(headline))
        self.verdict.setText(verdict)
        self.verdict.setVisible(bool(verdict))

    @Slot()
    def _show_state(self) -> None:
        repeated, state = self._repeated, self.comparison
        self.options.show_state(self.running, repeated)
        several = self.options.on_several
        self.run_button.setText(tr("Stop") if self.running else tr("Compare"))
        self.run_button.setAccessibleName(tr("Stop comparing") if self.running else tr("Compare"))
        has_prompt = bool(self._full_prompt) or repeated is not None or several
        self.run_button.setEnabled(self.running or (has_prompt and self.options.can_compare))
        asked = repeated.asked if repeated is not None and not several else None
        self._show_files(asked.own_files if asked is not None else ())
        self.prompt.setReadOnly(self.running)
        self.prompt.setEnabled(self.running or not several)
        self.repeats.setEnabled(not self.running)
        if state is not None and state.outcome is not None and state.outcome.fastest is not None:
            name = row_names(state.rows)[state.outcome.results.index(state.outcome.fastest)]
            self.use_button.setText(tr("Use {name}", name=name))
        self.use_button.setVisible(self._fastest_pair is not None)
        self.use_button.setEnabled(not self._loader.running and not self._activity.busy)
        self.save_button.setEnabled(self.record is not None and not self.running)
        for export in (self.copy_button, self.image_button):
            export.setEnabled(self.record is not None and not self.record.of_drafters and not self.running)
        if self.comparison is None and self.record is None:
            self._show_headline("", "")

    def _show_files(self, files: Sequence[Attachment]) -> None:
        """Show the prompt's files, and what the models don't get of them."""
        pictures, others = pictures_of(files), [one for one in files if one.picture is None]
        self.pictures.show_pictures(pictures)
        self.pictures.setVisible(bool(pictures))
        if others != [chip.file for chip in self.files.chips]:
            self.files.show_files(others, {})
        loader, record = self._loader, self.record
        note = ""
        if loader.pair is not None and (found := unread(files, loader.can_see)):
            note = not_read(found, loader.can_see, loader.why_cannot_see)
        elif not files and record is not None and record.had_files and record.prompt.strip() == self._full_prompt:
            note = tr("This prompt had files, which comparisons don't keep. Comparing again sends only its text.")
        self.files_note.setText(note)
        self.files_note.setVisible(bool(note))

    @Slot(object)
    def _open_pages(self, pdf: Attachment) -> None:
        open_pages(self._theme, pdf, None, self)

    # Exports

    @Slot()
    def copy_image(self) -> None:
        if self.record is not None:
            QGuiApplication.clipboard().setImage(card(self._theme, self.record))
            self.status.setText(tr("Image copied."))

    @Slot()
    def _save_image(self) -> None:
        if self.record is not None and (file := self._ask_file(tr("Save Image"), ".png", tr("PNG image (*.png)"))):
            self._comparisons.save(png(card(self._theme, self.record)), file)

    @Slot()
    def _save_results(self) -> None:
        if self.record is not None and (file := self._ask_file(tr("Save Results"), ".json", tr("JSON (*.json)"))):
            results = json.dumps(self.record.to_json(), ensure_ascii=False, indent=1)
            self._comparisons.save(results + "\n", file)

    def _ask_file(self, title: str, extension: str, format: str) -> Path | None:
        prompt = self.record.prompt if self.record is not None else self._full_prompt
        stem = file_name(" ".join(re.findall(r"\w+", prompt[:200]))[:40], tr("a prompt"))
        return ask_save_path(self, title, tr("Comparison of {stem}", stem=stem), {extension: format})

    def done(self, result: int) -> None:
        if self.running:
            self._activity.stop_comparison()
        super().done(result)


def _beginning(prompt: str) -> str:
    return prompt if len(prompt) <= MAX_SHOWN else f"{prompt[:MAX_SHOWN].rstrip()} …"


def _progress(state: CompareRun) -> tuple[str, str]:
    """Return the headline and subtitle of a comparison without a result."""
    if state.error:
        return tr("Comparison failed"), ""
    if not state.running:
        return tr("Stopped"), ""
    if state.loading or state.current is None:
        return tr("Comparing…"), tr("Loading the models") if state.loading else ""
    count = 1 if state.of_drafters else len(state.request.contestants)  # drafters run one after the other, modes in turns
    index, total = number(state.current.index // count + 1), number(state.current.total // count)
    if state.request.together:
        return tr("Comparing…"), tr("Both modes at the same time, run {index} of {total}", index=index, total=total)
    name = row_names(state.rows)[state.request.contestants.index(state.current.contestant)]
    return tr("Comparing…"), tr("{mode}, run {index} of {total}", mode=name, index=index, total=total)


class _PromptField(QPlainTextEdit):
    """The prompt field. Return compares, and Shift-Return starts a new line."""

    submitted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Prompt"))
        self.setPlaceholderText(tr("Enter a prompt to compare"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(PROMPT_MARGIN)
        self.setFixedHeight(PROMPT_LINES * self.fontMetrics().lineSpacing() + 2 * PROMPT_MARGIN + 2)
        set_look(self, "field")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
            self.submitted.emit()
        else:
            super().keyPressEvent(event)
