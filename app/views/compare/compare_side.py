"""The two replies of a comparison and the table of their statistics."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.rendering.blocks_view import BlocksView
from app.storage import wording
from app.storage.comparison_record import ComparisonRecord, Difference, side_names, spread
from app.storage.reply import Reply
from app.text.language import tr
from app.views.transcript.message_views import ThinkingView
from app.views.transcript.scrolling_column import FollowingScrollArea
from app.views.transcript.stats_line import StatsLine
from app.widgets.controls import ThinBar, button, small_label
from app.widgets.layout import column
from app.widgets.theme import Theme
from mlx_engine.contract.events import Stats
from mlx_engine.contract.requests import Mode

MODES: tuple[Mode, Mode] = ("plain", "dflash")
UNKNOWN = "–"


class CompareSide(QWidget):
    """A view of one mode's reply that follows the text as it grows."""

    def __init__(self, theme: Theme, mode: Mode) -> None:
        super().__init__()
        self._theme, self._mode = theme, mode
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
        self.show_reply(Reply(self._mode, 0))

    def show_name(self, names: dict[Mode, str] | None) -> None:
        """Name the engine of this side. Without names, the statistics name the mode."""
        self.name.setText(names[self._mode] if names else "")
        self.name.setVisible(names is not None)

    def show_reply(self, reply: Reply) -> None:
        """Show the current text and statistics of a reply."""
        if reply is not self._reply:
            if self._shown_length or not self.thinking.isHidden():
                self._replace_views()
            self.thinking.hide()
            self._reply, self._shown_length = reply, 0
            self.mark(None)
            self._scroll.follow()
        if len(reply.answer) > self._shown_length:
            self.blocks.append(reply.answer[self._shown_length :])
            self._shown_length = len(reply.answer)
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


class CompareFigures(QWidget):
    """A table with one row per mode: name, speed bar, and statistics."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight
        titles = (tr("tok/s"), tr("First token"), tr("Rounds"), tr("Tokens/round"), tr("Tokens"))
        for index, title in enumerate(titles, 2):
            grid.addWidget(small_label(theme, title, "faint", selectable=True), 0, index, right)
        self.names: dict[Mode, QLabel] = {}
        self.bars: dict[Mode, ThinBar] = {}
        self.cells: dict[Mode, list[QLabel]] = {}
        for row, mode in enumerate(MODES, 1):
            name = wording.mode_names()[mode]
            self.bars[mode] = ThinBar(theme, tr("{mode} speed", mode=name), "accent" if mode == "dflash" else "faint")
            self.cells[mode] = [small_label(theme, UNKNOWN, selectable=True) for _ in titles]
            self.names[mode] = small_label(theme, name, "secondary", selectable=True)
            grid.addWidget(self.names[mode], row, 0)
            grid.addWidget(self.bars[mode], row, 1)
            for index, (title, cell) in enumerate(zip(titles, self.cells[mode], strict=True), 2):
                cell.setAccessibleName(f"{name}: {title}")
                grid.addWidget(cell, row, index, right)

    def show_running(self, replies: dict[Mode, Reply], names: dict[Mode, str]) -> None:
        """Show the current run of each mode. A tilde marks an estimated speed."""
        self._show_names(names)
        rates: dict[Mode, float | None] = dict.fromkeys(MODES)
        for mode in MODES:
            reply, texts = replies.get(mode), [UNKNOWN] * len(self.cells[mode])
            if reply is not None and reply.stats is not None:
                rates[mode] = reply.stats.decode_tok_s
                texts = _cells(reply.stats, reply.stats.decode_tok_s, reply.stats.ttft_s)
            elif reply is not None:
                rates[mode] = rate = reply.rate.tok_s
                estimate = UNKNOWN if rate is None else "~" + wording.plain_rate(rate)
                rounds = _number(reply.rounds if mode == "dflash" else None)
                texts = [estimate, UNKNOWN, rounds, _number(reply.tokens_per_round, 1), wording.number(reply.tokens)]
            self._show(mode, texts)
        self._show_bars(rates)

    def show_record(self, record: ComparisonRecord) -> None:
        """Show the medians of all runs and the range of their speeds."""
        self._show_names(side_names(record.engines))
        for mode in MODES:
            side = record.side(mode)
            self._show(mode, _cells(side.stats, side.rate, side.first_token, side.tok_s))
        self._show_bars({mode: record.side(mode).rate for mode in MODES})

    def _show_names(self, names: dict[Mode, str]) -> None:
        for mode, name in names.items():
            self.names[mode].setText(name)

    def _show(self, mode: Mode, texts: Sequence[str]) -> None:
        for cell, text in zip(self.cells[mode], texts, strict=True):
            cell.setText(text)

    def _show_bars(self, rates: dict[Mode, float | None]) -> None:
        fastest = max((rate for rate in rates.values() if rate), default=1.0)
        for mode, bar in self.bars.items():
            bar.show_fraction((rates[mode] or 0.0) / fastest)


def _cells(stats: Stats, rate: float | None, first_token: float | None, runs: Sequence[float] = ()) -> list[str]:
    span = spread(runs)
    return [
        UNKNOWN if rate is None else wording.plain_rate(rate) + (f"  ({span})" if span else ""),
        UNKNOWN if first_token is None else wording.duration(first_token),
        _number(stats.rounds or None),
        _number(stats.tokens_per_round, 1),
        wording.number(stats.tokens),
    ]


def _number(value: float | None, digits: int = 0) -> str:
    return UNKNOWN if value is None else wording.number(value, digits)
