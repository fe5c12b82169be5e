"""The options of the next comparison: what is compared, on which prompts, and how."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.compare_run import ComparisonOptions
from app.session.comparer import Comparer
from app.session.pair_session import PairLoader
from app.storage.chat_tree import Turn, messages_before_prompt
from app.text.language import number, sentences, tr
from app.widgets.controls import as_tooltip, small_label
from app.widgets.layout import Flow, column
from app.widgets.theme import SMALL, Theme

LAST_PROMPTS = 10  # most prompts of a chat that are compared together


class CompareOptions(QWidget):
    """Check boxes, and a hint: what the next comparison does, or why it can't start.

    Signals:
        changed: the user changed what is compared.
    """

    changed = Signal()

    def __init__(
        self, theme: Theme, session: ChatSession, activity: SessionActivity, loader: PairLoader, comparer: Comparer
    ) -> None:
        super().__init__()
        self._session, self._activity, self._loader, self._comparer = session, activity, loader, comparer
        self._counted: tuple[Turn | None, int] = None, 0  # a turn, and the number of messages before its prompt
        self.hint = small_label(theme, look="secondary", wrap=True)
        self.exact = QCheckBox(tr("Guarantee identical text (slower)"))
        self.exact.setToolTip(as_tooltip(tr("Computes all replies in exact mode, so that they can't differ")))
        self.together = QCheckBox(tr("Both at the same time"))
        self.this_computer = QCheckBox(tr("Compare with this computer"))
        self.this_computer.setToolTip(as_tooltip(tr("Compares the server with the pair last used on this computer")))
        self.all_drafters = QCheckBox(tr("All drafters"))
        self.all_drafters.setToolTip(as_tooltip(tr("Compares every drafter of this model that is on this computer")))
        self.several = QCheckBox()
        self.several.setToolTip(as_tooltip(tr("Compares the drafters on several prompts, each with the messages before it")))
        for box in (self.exact, self.together, self.this_computer, self.all_drafters, self.several):
            theme.set_font(box, SMALL)
        for box in (self.together, self.this_computer, self.all_drafters, self.several):
            box.toggled.connect(self.changed)
        boxes = Flow(gap=16)
        for box in (self.exact, self.together, self.this_computer, self.all_drafters, self.several):
            boxes.addWidget(box)
        column(self.hint, boxes, spacing=6, parent=self)

    @property
    def with_this_computer(self) -> bool:
        """Whether the next comparison is one of the server with this computer."""
        pair = self._loader.pair
        return self.this_computer.isChecked() and pair is not None and bool(pair.remote)

    @property
    def drafters(self) -> tuple[Path, ...]:
        """The drafters of the next comparison, or none if it is one of both modes."""
        return self._loader.drafters if self.all_drafters.isChecked() and not self.all_drafters.isHidden() else ()

    @property
    def on_several(self) -> bool:
        """Whether the next comparison is one of drafters on several prompts."""
        return bool(self.drafters) and self.several.isChecked() and not self.several.isHidden()

    @property
    def last_turns(self) -> list[Turn]:
        """The last turns of the open chat that a comparison can repeat."""
        return [turn for turn in self._session.chat.turns if turn.can_compare][-LAST_PROMPTS:]

    @property
    def can_compare(self) -> bool:
        return not self._activity.busy and not self._comparer.why_not(self.with_this_computer)

    def chosen(self, repeats: int) -> ComparisonOptions:
        return ComparisonOptions(repeats, self.exact.isChecked(), self.with_this_computer, self.drafters, self.together.isChecked())

    def show_state(self, running: bool, repeated: Turn | None) -> None:
        """Show what can be chosen.

        repeated: the turn that the next comparison repeats, if any.
        """
        self.all_drafters.setVisible(len(self._loader.drafters) > 1 or (running and self.all_drafters.isChecked()))
        count = len(self.last_turns)
        self.several.setText(tr("Last {count} prompts of this chat", count=number(count)))
        self.several.setVisible(bool(self.drafters) and count > 1)
        self.this_computer.setVisible(bool(self._loader.sent_to))
        for box in (self.all_drafters, self.several, self.this_computer):
            box.setEnabled(not running)
        self.exact.setEnabled(not running and not self._loader.sent_to)
        if self._loader.sent_to:
            self.exact.setChecked(False)
        why_apart = self._why_apart
        self.together.setEnabled(not running and not why_apart)
        self.together.setToolTip(
            as_tooltip(why_apart or tr("Computes both replies together. Their speeds can't be compared then."))
        )
        if why_apart:
            self.together.setChecked(False)
        self.hint.setText(self._hint(running, repeated))

    @property
    def _why_apart(self) -> str:
        """Why contestants can't reply at the same time, or an empty string."""
        if self._loader.sent_to:
            return tr("A server's replies can only be compared one after the other.")
        return tr("Drafters are loaded one after the other, so they can't reply at the same time.") if self.drafters else ""

    def _hint(self, running: bool, repeated: Turn | None) -> str:
        if not running and not self.can_compare:
            return self._activity.why_busy or self._comparer.why_not(self.with_this_computer)
        if self.with_this_computer:
            return tr("The pair on this computer replies first, then the server. The replies may differ.")
        if self.on_several:
            count = number(len(self.last_turns))
            return tr("The drafters answer the last {count} prompts of this chat, one drafter after the other.", count=count)
        if self.drafters:
            order = tr("The drafters are loaded one after the other. Seed and settings are the same for all.")
        elif self.together.isChecked():
            order = tr("Both modes reply at the same time, with the same seed and settings. Their speeds can't be compared.")
        else:
            order = tr("The modes run one after the other, with the same seed and settings.")
        if repeated is not self._counted[0]:  # the request of a long chat takes time, and this is called for each batch of events
            self._counted = repeated, messages_before_prompt(repeated.request) if repeated is not None else 0
        before = self._counted[1]
        if before == 1:
            return sentences(order, tr("The message before this prompt is included."))
        return sentences(order, tr("The {count} messages before this prompt are included.", count=before) if before else "")
