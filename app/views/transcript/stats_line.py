"""The statistics below a reply, and their details."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.storage import wording
from app.storage.reply import MOST_PROBABILITIES, Reply
from app.storage.slow_wording import notable, slow_chip, slow_explanation, slow_replies
from app.storage.speed_history import SpeedPoint
from app.text.language import number, tr
from app.views.transcript.reply_charts import PromptBar, RoundsChart, SpeedChart
from app.views.transcript.token_probabilities import TokenProbabilities
from app.widgets.controls import Label, as_tooltip, small_label
from app.widgets.fact_table import FactTable
from app.widgets.layout import Flow, column
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.contract.events import Stats


class StatsLine(QWidget):
    """Why the reply ended, then chips with its speed and why it was low.

    If `stacked`, a chip with the mode, and statistics below.

    Attributes:
        facts: why the reply ended, or its statistics if `stacked`.
        progress: how far a running reply is.
        history: returns the speeds of the chat's replies up to this one.
    """

    def __init__(self, theme: Theme, stacked: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._stacked = stacked
        self._reply: Reply | None = None
        self._details: StatsDetails | None = None
        self.history: Callable[[], Sequence[SpeedPoint]] = lambda: ()
        self.chip = small_label(theme, elided=True)
        self.facts = _Facts()
        theme.set_font(self.facts, SMALL)
        set_look(self.facts, "secondary")
        self.cause = small_label(theme, look="chip-caution", elided=True)
        self.cause.setAccessibleName(tr("Why this reply was slow"))
        self.cause.setParent(self)  # without a parent, it would be a window
        self.cause.hide()
        self.chip.setAccessibleName(tr("Mode"))
        self.progress = small_label(theme, look="secondary", elided=True)
        self.progress.setParent(self)
        self.progress.hide()
        self.figures = Flow(stacked=stacked)
        shown = (self.chip, self.facts) if stacked else (self.facts, self.chip, self.cause, self.progress)
        self.facts.setAccessibleName(tr("Speed") if stacked else "")
        for label in shown:
            self.figures.addWidget(label)
        self.lines = column(self.figures, spacing=2, parent=self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def show_reply(self, reply: Reply) -> None:
        self._reply = reply
        chip, facts = wording.chip(reply, short=self._stacked), wording.facts(reply, short=self._stacked)
        drafts = chip.startswith(wording.drafting(reply))
        if not self._stacked:
            chip, facts = wording.pill(reply), wording.ending(reply)
        if chip != self.chip.text():
            self.chip.setText(chip)
        set_look(self.chip, "chip-accent" if drafts else "chip")
        if facts != self.facts.text() or not facts:
            self.facts.setText(facts or " ")  # keep the height, so that nothing moves when statistics arrive
        if not self._stacked:
            self.facts.setVisible(bool(facts))
            self.progress.setText(wording.reading(reply))
            self.progress.setVisible(bool(self.progress.text()))
        self._show_cause(reply)
        if reply.stats:
            tip = as_tooltip("\n".join((*wording.speed(reply), wording.details(reply.stats))))
            self.chip.setToolTip(tip)
            self.facts.setToolTip(tip)

    def _show_cause(self, reply: Reply) -> None:
        cause = "" if self._stacked else slow_chip(reply)
        if cause != self.cause.text():
            explanation = slow_explanation(reply)
            self.cause.setText(cause)
            self.cause.setToolTip(as_tooltip(explanation))
            self.cause.setAccessibleDescription(explanation)
        self.cause.setVisible(bool(cause))

    @Slot(bool)
    def show_details(self, shown: bool) -> None:
        """Show or hide all statistics and charts below the line."""
        if self._details is not None:
            self._details.hide()
            self._details.deleteLater()
            self._details = None
        if shown and self._reply is not None and self._reply.stats is not None:
            self._details = StatsDetails(self._theme, self._reply, self._reply.stats, self.history())
            self.lines.addWidget(self._details)


class _Facts(Label):
    """A label that wraps only if there is too little space for one line."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + 2, self.fontMetrics().height())


class StatsDetails(QFrame):
    """A panel with charts and all statistics of a reply."""

    def __init__(self, theme: Theme, reply: Reply, stats: Stats, history: Sequence[SpeedPoint] = ()) -> None:
        super().__init__()
        self.setAccessibleName(tr("Details of this reply"))
        set_look(self, "notice")
        charts: list[QWidget] = []
        if explanation := slow_explanation(reply):
            charts.append(small_label(theme, explanation, wrap=True, selectable=True))
        if stats.accepted_per_round:
            charts += [small_label(theme, tr("Drafted and accepted tokens per round"), bold=True), RoundsChart(theme, stats)]
        has_prompt_bar = stats.prompt_tokens > 0 and (stats.reused_tokens > 0 or stats.measured_by == "engine")
        if has_prompt_bar:
            charts += [small_label(theme, tr("Reused and processed prompt tokens"), bold=True), PromptBar(theme, stats)]
        if len(history) > 1:
            charts += [small_label(theme, tr("Speed of the replies in this chat"), bold=True), SpeedChart(theme, history)]
            if slow := slow_replies(history):
                charts.append(small_label(theme, slow, "secondary", wrap=True, selectable=True))
        if reply.probabilities:
            about = tr("Token probabilities, kept until you open another chat")
            if len(reply.probabilities) == MOST_PROBABILITIES:
                count = number(MOST_PROBABILITIES)
                about = tr("Probabilities of the first {count} tokens, kept until you open another chat", count=count)
            charts += [small_label(theme, about, bold=True), TokenProbabilities(theme, reply.probabilities)]
        self.facts = FactTable(theme)
        computer = {tr("This computer"): found} if (found := notable(reply.conditions)) else {}
        on_stats = wording.detail_facts(stats, with_prompt=not has_prompt_bar)
        self.facts.show_facts(wording.reply_facts(reply) | on_stats | computer | wording.steps(reply.step_stats))
        column(*charts, self.facts, spacing=12, margins=(16, 14, 16, 14), parent=self)
