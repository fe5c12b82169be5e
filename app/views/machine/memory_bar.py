"""What holds the computer's memory, as one bar with a legend."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.storage.wording import size
from app.text.language import tr
from app.widgets.controls import small_label, styled_label
from app.widgets.layout import Flow
from app.widgets.theme import Theme
from mlx_engine.contract.machine_events import MemoryOwner, MemoryUse, ReliefStep

HEIGHT, GAP, DOT = 14, 1, 9
_LEAST = 1_000_000  # bytes of parts that are shown
# Neighbors in the bar differ in lightness, too, for people who can't tell the colors apart
_COLORS: dict[MemoryOwner, str] = {
    "target": "accent",
    "drafter": "builtin",
    "images": "keyword",
    "replies": "fits",
    "snapshots": "nearly",
    "workspace": "current_hit",
    "buffers": "track",
    "tuning": "danger",
    "window": "secondary",
    "others": "disabled",
}


def _names() -> dict[MemoryOwner, str]:
    return {
        "target": tr("Model"),
        "drafter": tr("Drafter"),
        "images": tr("Images"),
        "replies": tr("Running replies"),
        "snapshots": tr("Earlier prompts"),
        "workspace": tr("Computing"),
        "buffers": tr("Unused buffers"),
        "tuning": tr("Tuning"),
        "window": tr("Slipstream itself"),
        "others": tr("Other apps and the system"),
    }


class MemoryBar(QWidget):
    """A bar of all memory, with the parts that are in use."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.title = styled_label(theme, tr("Memory"), bold=True)
        self.summary = small_label(theme, look="secondary", wrap=True, selectable=True)
        self.warning = small_label(theme, wrap=True, selectable=True)
        self.bar = _Bar(theme)
        self.entries: dict[MemoryOwner, _Entry] = {owner: _Entry(theme, owner) for owner in _COLORS}
        layout, legend = QVBoxLayout(self), Flow(gap=14)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(6)
        for entry in self.entries.values():
            legend.addWidget(entry)
        for widget in (self.title, self.summary, self.warning, self.bar):
            layout.addWidget(widget)
        layout.addLayout(legend)
        self.show_use(None)

    def show_use(self, use: MemoryUse | None) -> None:
        """Show a reading, or nothing before the first."""
        self.setVisible(use is not None)
        if use is None:
            return
        parts, names = dict(use.parts), _names()
        free = max(use.total - sum(parts.values()), 0)
        texts = []
        for owner, entry in self.entries.items():
            count = parts.get(owner, 0)
            entry.setVisible(count >= _LEAST)
            if count >= _LEAST:
                texts.append(f"{names[owner]}: {size(count)}")
                entry.show_text(f"{names[owner]} {size(count)}")
        available = tr("{free} available", free=size(free))
        facts = [available, tr("up to {budget} for models", budget=size(use.budget))]
        if use.reserved > parts.get("replies", 0):
            facts.append(tr("{reserved} reserved for running replies", reserved=size(use.reserved)))
        self.summary.setText(" · ".join(facts))
        self.warning.setText(state(use))
        self.warning.setVisible(use.step > ReliefStep.NONE)
        self.bar.show_parts(use)
        self.bar.setAccessibleDescription(", ".join([*texts, available]))


def state(use: MemoryUse) -> str:
    """Describe what Slipstream does now because memory is short; empty if it suffices."""
    if not use.step:
        return ""
    if use.step <= ReliefStep.BUFFERS:
        return tr("Memory is running low. Slipstream has freed what it doesn't need now.")
    if use.step == ReliefStep.CACHES:
        return tr("Memory is running low. Only one reply runs at a time.")
    return tr("Memory is almost full. Background work is paused, and new replies may be refused.")


class _Bar(QWidget):
    """The bar, whose widths are shares of all memory."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._use: MemoryUse | None = None
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Memory"))
        theme.changed.connect(self.update)

    def show_parts(self, use: MemoryUse) -> None:
        self._use = use
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setClipPath(outline)
        painter.fillRect(self.rect(), QColor(self._theme.colors.bubble))
        if self._use is not None and self._use.total:
            left, scale = 0.0, self.width() / max(self._use.total, sum(count for _, count in self._use.parts))
            for owner, count in self._use.parts:
                if count >= _LEAST:
                    color = QColor(getattr(self._theme.colors, _COLORS[owner]))
                    painter.fillRect(QRectF(left, 0, max(count * scale - GAP, GAP), HEIGHT), color)
                left += count * scale
        painter.end()


class _Entry(QWidget):
    """A part's name and size, after a square in its color."""

    def __init__(self, theme: Theme, owner: MemoryOwner) -> None:
        super().__init__()
        self._theme, self._owner = theme, owner
        self.label = small_label(theme, look="secondary")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(DOT + 6, 0, 0, 0)
        layout.addWidget(self.label)
        theme.changed.connect(self.update)

    def show_text(self, text: str) -> None:
        self.label.setText(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color = QColor(getattr(self._theme.colors, _COLORS[self._owner]))
        painter.fillRect(QRectF(0, (self.height() - DOT) / 2, DOT, DOT), color)
        painter.end()
