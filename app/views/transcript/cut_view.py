"""The line above which the model reads nothing, and what the model reads instead."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.rendering.blocks_view import BlocksView
from app.rendering.markdown import clean_text
from app.storage.chat_tree import Node
from app.text.language import tr
from app.views.transcript.message_actions import MessageActions
from app.views.transcript.message_view import GAP, PROMPT_GAP, MessageView
from app.views.transcript.message_views import ANSWER, LINE_GAP
from app.widgets.controls import button, small_label
from app.widgets.layout import column, line, row
from app.widgets.theme import Theme, set_look

EDITOR_LINES = 10


class CutView(MessageView):
    """A line between two messages. A summary is folded below it, and can be edited.

    Args:
        summary: the message whose summary replaces what is above, or None.
    """

    editing_changed = Signal(bool)

    def __init__(self, theme: Theme, summary: Node | None, actions: MessageActions) -> None:
        super().__init__()
        self._summary, self._actions = summary, actions
        nothing = tr("The context is full, so the model reads nothing above this line.")
        text = tr("The model reads a summary of what is above this line.") if summary is not None else nothing
        self.label = small_label(theme, text, "secondary", wrap=True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.show_button = button("", clicked=self._toggle)
        self.edit_button = button(tr("Edit"), tr("Edit the summary"), clicked=self._edit)
        self.undo_button = button(tr("Undo"), tr("Undo Compact"), clicked=actions.compact_undone.emit)
        self.body = BlocksView(theme, quiet=True, lazy=True)
        self.body.setAccessibleName(tr("Summary"))
        self.editor = QPlainTextEdit()
        self.editor.setAccessibleName(tr("Summary"))
        self.editor.setTabChangesFocus(True)
        self.editor.setFixedHeight(self.editor.fontMetrics().lineSpacing() * EDITOR_LINES)
        self.save_button = button(tr("Save"), tr("Save the summary"), "bordered", self._save)
        self.cancel_button = button(tr("Cancel"), tr("Discard the changes"), "bordered", self._end_edit)
        self.shown = QWidget()
        row(line("upright"), self.body, spacing=LINE_GAP, margins=(10, 0, 0, 0), parent=self.shown)
        frame = QFrame()
        set_look(frame, "bubble")
        column(self.editor, margins=(10, 8, 10, 8), parent=frame)
        self.form = QWidget()
        column(frame, row(None, self.cancel_button, self.save_button, spacing=8), spacing=8, parent=self.form)
        self.form.hide()
        self.shown.hide()
        self.editor.textChanged.connect(self._keep_text)
        actions.can_change_summary_changed.connect(self._enable)
        self._enable()
        self.body.resized.connect(self.updateGeometry)
        inner = column(line(), self.label, spacing=6, margins=(0, 0, 0, GAP - PROMPT_GAP), parent=self)
        if summary is not None:
            inner.addLayout(row(None, self.show_button, self.edit_button, self.undo_button, None, spacing=4))
            inner.addWidget(self.shown)
            inner.addWidget(self.form)
            self.body.show_markdown(clean_text(summary.summary))
            self._show(False)
            if summary.id in actions.summary_edits:
                self._show_text()

    def areas(self) -> dict[int, BlocksView]:
        return {ANSWER: self.body} if self._summary is not None else {}

    def unfold(self, area: int) -> None:
        """Show the summary."""
        self._show(True)

    @Slot()
    def _toggle(self) -> None:
        self._show(self.shown.isHidden())

    def _show(self, shown: bool) -> None:
        self.show_button.setText(f"{'▾' if shown else '▸'}  {tr('Summary')}")
        self.show_button.setAccessibleName(tr("Hide summary") if shown else tr("Show summary"))
        self.shown.setVisible(shown)
        self.updateGeometry()

    @Slot()
    def _edit(self) -> None:
        self._show_text()
        self.editor.setFocus()

    def _show_text(self) -> None:
        """Show the form with the unsaved text, or with the summary."""
        assert self._summary is not None
        self._show(False)
        self.editor.setPlainText(self._actions.summary_edits.setdefault(self._summary.id, self._summary.summary))
        self._show_form(True)

    @Slot()
    def _keep_text(self) -> None:
        """Keep the unsaved text, which outlives this view."""
        if self._summary is not None and self._summary.id in self._actions.summary_edits:
            self._actions.summary_edits[self._summary.id] = self.editor.toPlainText()
        self._enable()

    @Slot()
    def _end_edit(self) -> None:
        assert self._summary is not None
        self._actions.summary_edits.pop(self._summary.id, None)
        self._show_form(False)

    @Slot()
    def _save(self) -> None:
        self._actions.summary_edited.emit(self._summary, self.editor.toPlainText())
        self._end_edit()

    def _show_form(self, shown: bool) -> None:
        self.form.setVisible(shown)
        self._enable()
        self.updateGeometry()
        self.editing_changed.emit(shown)

    @Slot()
    def _enable(self) -> None:
        """Enable what is possible now. Undo Compact removes a summary, not Save."""
        can, editing = self._actions.can_change_summary, not self.form.isHidden()
        self.show_button.setEnabled(not editing)
        self.edit_button.setEnabled(can and not editing)
        self.undo_button.setEnabled(can and not editing)
        self.save_button.setEnabled(can and bool(self.editor.toPlainText().strip()))
