"""The same prompt answered plainly and with DFlash, side by side, with the verdict under it."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.comparing import Comparison
from app.conversations import words
from app.conversations.reply import Reply
from app.views.blocks_view import BlocksView
from app.views.button import button
from app.views.following import Following
from app.views.message import NoticeView
from app.views.stats_line import StatsLine
from app.views.theme import SMALL, Theme, look
from app.views.thinking_view import ThinkingView
from mlx_engine.events import Mode


class CompareDialog(QDialog):
    """Follows a comparison while it runs. Closing it ends the comparison."""

    abandoned = Signal()

    def __init__(self, theme: Theme, comparison: Comparison, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.comparison = comparison
        self.setWindowTitle("Compare")
        self.setAccessibleName("Compare plain decoding with DFlash")
        self.resize(QSize(980, 680))
        if parent is not None:
            self.resize(QSize(980, 680).boundedTo(parent.window().size() * 1.3))

        prompt = QLabel(comparison.turn.prompt.replace("\n", " "))
        prompt.setTextFormat(Qt.TextFormat.PlainText)
        theme.set_font(prompt, 1.1, bold=True)
        prompt.setWordWrap(True)
        prompt.setMaximumHeight(3 * prompt.fontMetrics().lineSpacing())
        same = QLabel("One after the other, never at the same time, with the same seed and settings.")
        theme.set_font(same, SMALL)
        same.setWordWrap(True)
        look(same, "secondary")
        self.sides: dict[Mode, _Side] = {"plain": _Side(theme, "plain"), "dflash": _Side(theme, "dflash")}
        columns = QHBoxLayout()
        columns.setSpacing(20)
        columns.addWidget(self.sides["plain"], 1)
        line = QFrame()
        look(line, "upright")
        columns.addWidget(line)
        columns.addWidget(self.sides["dflash"], 1)

        self.bars = _Bars(theme)
        self.headline = QLabel()
        theme.set_font(self.headline, 1.3, bold=True)
        self.headline.setWordWrap(True)
        self.headline.setAccessibleName("Result")
        self.verdict = QLabel()
        self.verdict.setWordWrap(True)
        self.verdict.setAccessibleName("Verdict")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        look(self.verdict, "secondary")
        self.error = NoticeView(theme, "", "error")
        self.error.hide()
        self.close_button = button("Stop", "Stop comparing", "bordered")
        self.close_button.clicked.connect(self.reject)
        foot = QHBoxLayout()
        foot.setSpacing(16)
        words_column = QVBoxLayout()
        words_column.setSpacing(4)
        words_column.addWidget(self.headline)
        words_column.addWidget(self.verdict)
        foot.addLayout(words_column, 1)
        foot.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignBottom)
        rule = QFrame()
        look(rule, "hairline")

        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 20)
        layout.setSpacing(12)
        layout.addWidget(prompt)
        layout.addWidget(same)
        layout.addSpacing(4)
        layout.addLayout(columns, 1)
        layout.addWidget(self.error)
        layout.addWidget(rule)
        layout.addWidget(self.bars)
        layout.addLayout(foot)
        comparison.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Draw what is new."""
        state = self.comparison
        for mode, reply in state.replies.items():
            self.sides[mode].show_reply(reply)
        self.bars.show_rates({mode: _rate(reply) for mode, reply in state.replies.items()})
        if state.result is not None:
            headline, verdict = words.comparison(state.result)
        elif state.error:
            headline, verdict = "The comparison could not be finished", ""
            self.error.label.setText(state.error)
            self.error.show()
        elif state.cancelled:
            headline, verdict = "Stopped", ""
        else:
            now = words.MODE_NAMES[state.now] if state.now else ""
            headline, verdict = "Comparing…", f"Now: {now}" if now else ""
        self.headline.setText(headline)
        self.verdict.setText(verdict)
        self.verdict.setVisible(bool(verdict))
        if not state.running and self.close_button.text() != "Close":
            self.close_button.setText("Close")
            self.close_button.setAccessibleName("Close")

    def done(self, result: int) -> None:
        if self.comparison.running:
            self.abandoned.emit()
        super().done(result)


def _rate(reply: Reply) -> float | None:
    return reply.stats.decode_tok_s if reply.stats else reply.rate.tok_s


class _Side(QWidget):
    """One mode's reply."""

    def __init__(self, theme: Theme, mode: Mode) -> None:
        super().__init__()
        self._theme = theme
        self._mode = mode
        self._reply: Reply | None = None
        self._drawn = 0
        theme.text_resized.connect(self._redraw)
        theme.changed.connect(self._redraw)
        self.stats = StatsLine(theme, stacked=True)  # so that both texts begin at one height
        self.stats.show_reply(Reply(mode, 0))
        self._holder = QWidget()
        self._inner = QVBoxLayout(self._holder)
        self._inner.setContentsMargins(0, 0, 8, 0)
        self.thinking = ThinkingView(theme)
        self.thinking.hide()
        self._inner.addWidget(self.thinking)
        self.blocks = BlocksView(theme)
        self._inner.addWidget(self.blocks)
        self._inner.addStretch(1)
        self._scroll = Following()
        self._scroll.setWidget(self._holder)
        self._scroll.setAccessibleName(f"{words.MODE_NAMES[mode]} reply")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.stats)
        layout.addWidget(self._scroll, 1)

    def show_reply(self, reply: Reply) -> None:
        if reply is not self._reply:
            # A repeat of the comparison begins this side again.
            if self._drawn:
                fresh = BlocksView(self._theme)
                self._inner.replaceWidget(self.blocks, fresh)
                self.blocks.deleteLater()
                self.blocks = fresh
            self._reply, self._drawn = reply, 0
        if len(reply.answer) > self._drawn:
            self.blocks.append(reply.answer[self._drawn :])
            self._drawn = len(reply.answer)
        if reply.thinking:
            self.thinking.show()
            self.thinking.show_reply(reply)
        self.stats.show_reply(reply)

    @Slot()
    def _redraw(self) -> None:
        self.blocks.redraw()
        self.thinking.redraw()


class _Bars(QWidget):
    """The two rates as bars on one scale."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rates: dict[Mode, float | None] = {}
        self.setFixedHeight(52)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Rates")
        theme.set_font(self, SMALL)
        theme.changed.connect(self.update)

    def show_rates(self, rates: dict[Mode, float | None]) -> None:
        if rates != self._rates:
            self._rates = dict(rates)
            self.setAccessibleDescription(
                ", ".join(f"{words.MODE_NAMES[mode]} {words.rate(rate)}" for mode, rate in rates.items() if rate)
            )
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._theme.colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fastest = max((rate for rate in self._rates.values() if rate), default=0.0)
        label, figure = 64, 96
        modes: tuple[Mode, Mode] = ("plain", "dflash")
        for number, mode in enumerate(modes):
            area = QRectF(0, 26 * number, self.width(), 24)
            painter.setPen(QColor(colours.secondary))
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, words.MODE_NAMES[mode])
            room = QRectF(label, area.top() + 8, self.width() - label - figure, 8)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.bubble))
            painter.drawRoundedRect(room, 4, 4)
            rate = self._rates.get(mode)
            if rate and fastest:
                painter.setBrush(QColor(colours.accent if mode == "dflash" else colours.faint))
                painter.drawRoundedRect(QRectF(room.topLeft(), QSize(max(8, round(room.width() * rate / fastest)), 8)), 4, 4)
                painter.setPen(QColor(colours.text))
                painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, words.rate(rate))
        painter.end()
