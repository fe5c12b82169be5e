"""The two replies of a comparison, and the table of its figures."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtWidgets import QWidget

from app.rendering.blocks_view import BlocksView
from app.rendering.streaming import held_back
from app.storage import wording
from app.storage.comparison_record import ComparisonRow, Difference, are_drafters, row_names, spread
from app.storage.reply import Reply
from app.text.language import tr, translated
from app.views.transcript.message_views import ThinkingView
from app.views.transcript.scrolling_column import FollowingScrollArea
from app.views.transcript.stats_line import StatsLine
from app.widgets.comparison_table import UNKNOWN, ComparisonTable
from app.widgets.controls import button, small_label
from app.widgets.layout import column
from app.widgets.theme import Theme
from mlx_engine.contract.requests import Mode


class CompareSide(QWidget):
    """A view of one contestant's reply that follows the text as it grows."""

    def __init__(self, theme: Theme, mode: Mode) -> None:
        super().__init__()
        self._theme, self.mode = theme, mode
        self._reply: Reply | None = None
        self._shown_length = 0
        self._difference: Difference | None = None
        self._tracking = False  # keep the difference visible until the user scrolls
        theme.changed.connect(self._redraw)
        self.name = small_label(theme, bold=True, elided=True)
        self.name.hide()
        self.stats = StatsLine(theme, stacked=True)  # stacked, so that both columns have the same height
        self._content = QWidget()
        self.thinking, self.blocks = ThinkingView(theme), BlocksView(theme)
        self._inner = column(self.thinking, self.blocks, None, margins=(0, 0, 8, 0), parent=self._content)
        for view in (self.thinking, self.blocks):
            view.installEventFilter(self)
        self.difference_button = button("", tr("Go to the first difference"), clicked=self.show_difference)
        self._layout_timer = QTimer(self, singleShot=True, interval=0)  # the mark's position is known after the next layout
        self._layout_timer.timeout.connect(self._keep_difference_visible)
        self._scroll = FollowingScrollArea()
        self._scroll.setWidget(self._content)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._keep_difference_visible)
        self._scroll.verticalScrollBar().actionTriggered.connect(self._stop_tracking)
        self._scroll.setAccessibleName(tr("{mode} reply", mode=wording.mode_names()[mode]))
        left = Qt.AlignmentFlag.AlignLeft
        column(self.name, self.stats, (self.difference_button, 0, left), (self._scroll, 1), spacing=12, parent=self)
        self.clear()

    def clear(self) -> None:
        self.show_reply(Reply(self.mode, 0))

    def show_name(self, name: str) -> None:
        """Name the contestant of this side. Without a name, the statistics name the mode."""
        self.name.setText(name)
        self.name.setVisible(bool(name))

    def show_reply(self, reply: Reply) -> None:
        """Show the current text and statistics of a reply."""
        if reply is not self._reply:
            if self._shown_length or not self.thinking.isHidden():
                self._replace_views()
            self.thinking.hide()
            self._reply, self._shown_length = reply, 0
            self.mark(None)
            self._scroll.follow()
        end = len(reply.answer) - (held_back(reply.answer) if reply.running else 0)
        if end > self._shown_length:
            self.blocks.append(reply.answer[self._shown_length : end])
            self._shown_length = end
        if reply.thinking:
            self.thinking.show()
            self.thinking.show_thinking(reply.thinking, reply.thinking_s, bool(reply.answer) or not reply.running)
        self.stats.show_reply(reply)

    @property
    def shown(self) -> tuple[str, str]:
        """The displayed thinking and answer."""
        return (self._reply.thinking, self._reply.answer) if self._reply is not None else ("", "")

    def mark(self, difference: Difference | None) -> None:
        """Mark the first difference and scroll to it, or remove the mark if None."""
        self.blocks.mark_difference(None, "")
        self.thinking.body.mark_difference(None, "")
        self.difference_button.setVisible(difference is not None)
        self._difference, self._tracking = difference, difference is not None
        if difference is None:
            return
        in_thinking = difference.channel == "thinking"
        text = self.shown[0 if in_thinking else 1]
        start, end = difference.span(text)
        if in_thinking and text:
            self.thinking.open()
        if start < end:
            (self.thinking.body if in_thinking else self.blocks).mark_difference((start, end), text)
        description = _describe(difference, text)
        self.difference_button.setText(description)
        self.difference_button.setAccessibleName(tr("{description}. Go to the first difference", description=description))
        self._scroll.stop_following()
        self._layout_timer.start()

    @Slot()
    def show_difference(self) -> None:
        """Scroll to the first difference, or to the end if the reply ends there."""
        self._tracking = self._difference is not None
        for view in (self.thinking.body, self.blocks):
            if (rect := view.difference_rect) is not None:
                self._scroll_to(view.mapTo(self._content, rect.center()))
                return
        if self._difference is not None and self._difference.channel == "thinking":
            body = self.thinking.body
            self._scroll_to(body.mapTo(self._content, QPoint(0, body.height())) if self.thinking.is_open else QPoint())
        else:
            self._scroll.follow()

    def show_start(self) -> None:
        """Scroll to the start, where a reader begins, instead of following the end."""
        self._scroll.stop_following()
        self._scroll.verticalScrollBar().setValue(0)

    def _scroll_to(self, at: QPoint) -> None:
        self._scroll.ensureVisible(0, at.y(), 0, self._scroll.viewport().height() // 3)

    @Slot()
    def _keep_difference_visible(self) -> None:
        if self._tracking:
            self.show_difference()

    @Slot()
    def _stop_tracking(self) -> None:
        self._tracking = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the mark visible after a resize."""
        if event.type() == QEvent.Type.Resize:  # a new width can move the mark without a new scroll range
            self._layout_timer.start()
        return super().eventFilter(watched, event)

    def _replace_views(self) -> None:
        blocks, thinking = BlocksView(self._theme), ThinkingView(self._theme)
        for old, new in ((self.blocks, blocks), (self.thinking, thinking)):
            self._inner.replaceWidget(old, new)
            old.hide()
            old.deleteLater()
            new.installEventFilter(self)
        self.blocks, self.thinking = blocks, thinking

    @Slot()
    def _redraw(self) -> None:
        self.blocks.redraw()
        self.thinking.body.redraw()


def _describe(difference: Difference, text: str) -> str:
    if difference.spaces:
        return tr("Spaces or line breaks differ from here on")
    if words := difference.words(text):
        return tr("Differs from here on: “{words}”", words=words)
    if difference.channel == "thinking":
        return tr("Thinking ends here; the other reply continues")
    return tr("Ends here; the other reply continues")


class CompareFigures(ComparisonTable):
    """The contestants' figures: rounds of two modes, or memory of drafters.

    Args:
        theme: colors and fonts.
        rows: the figures.
        comparable: whether bars compare the speeds.
    """

    def __init__(self, theme: Theme, rows: Sequence[ComparisonRow], comparable: bool = True) -> None:
        self._of_drafters = are_drafters(rows)
        titles = [tr("tok/s"), tr("First token"), tr("Rounds"), tr("Tokens/round"), tr("Tokens")]
        if self._of_drafters:
            titles = [tr("tok/s"), tr("Tokens/round"), tr("Memory"), tr("Text")]
        super().__init__(theme, titles, [("", row.drafter * self._of_drafters) for row in rows], bars=comparable)
        self.show_rows(rows)

    def show_rows(self, rows: Sequence[ComparisonRow], fastest: ComparisonRow | None = None) -> None:
        """Show figures, and highlight DFlash or the fastest drafter, once it is known.

        A tilde marks an estimated speed.
        """
        for shown, row, name in zip(self.rows, rows, row_names(rows), strict=True):
            shown.show_name(row.kind or name if self._of_drafters else name)
            shown.show(self._texts(row), translated(row.problem) if row.problem else "")
        accented = 1 if not self._of_drafters else None if fastest is None else rows.index(fastest)
        self.show_speeds([row.tok_s for row in rows], accented, self._of_drafters)

    def _texts(self, row: ComparisonRow) -> tuple[str, ...]:
        rate = UNKNOWN if row.tok_s is None else ("" if row.replies else "~") + wording.plain_rate(row.tok_s)
        per_round = _number(row.tokens_per_round, 1)
        if self._of_drafters:
            return rate, per_round, wording.size(row.bytes) if row.bytes else UNKNOWN, row.text
        span = spread(row.rates)
        first = UNKNOWN if row.first_token_s is None else wording.duration(row.first_token_s)
        return rate + (f"  ({span})" if span else ""), first, _number(row.rounds), per_round, _number(row.tokens)


def _number(value: float | None, digits: int = 0) -> str:
    return wording.number(value, digits) if value else UNKNOWN
