"""The empty chat: what this is, what it is loading, and four things to ask."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.views.theme import Theme, look
from mlx_engine.events import LoadProgress, PairInfo

SAMPLES = (
    "How many positive whole-number divisors does 196 have?",
    "Write a Python function that checks if a number is prime.",
    "Convert 37 kilometres to metres.",
    "What is speculative decoding?",
)


class Welcome(QWidget):
    """Shown while there are no turns."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.title = QLabel("Ask anything, faster")
        self.title.setFont(theme.large(1.75))
        self.title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.title.setWordWrap(True)
        self.subtitle = QLabel()
        self.subtitle.setWordWrap(True)
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        look(self.subtitle, "secondary")
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(6)
        self.progress.setFixedWidth(280)
        self.progress.setAccessibleName("Loading the models")
        self._cards = QGridLayout()
        self._cards.setSpacing(12)
        self.cards = [self._card(text) for text in SAMPLES]
        self._columns = 0
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addStretch(2)
        layout.addWidget(self.title)
        layout.addWidget(self.subtitle)
        layout.addWidget(self.progress, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(22)
        layout.addLayout(self._cards)
        layout.addStretch(3)
        self._arrange(2)
        theme.changed.connect(self._colour)
        self._colour()
        self.show_state(None, None)

    def show_state(self, loading: LoadProgress | None, pair: PairInfo | None) -> None:
        """Say what is loaded or loading."""
        self.progress.setVisible(loading is not None)
        for card in self.cards:
            card.setEnabled(pair is not None)
        if loading is not None:
            self.progress.setValue(round(1000 * loading.fraction))
            self.subtitle.setText(f"{loading.step}…")
        elif pair is not None and not pair.why_plain:
            self.subtitle.setText("The small model drafts, the large one checks. Every word is the large model's own.")
        elif pair is not None:
            self.subtitle.setText("Ready, without DFlash.")
        else:
            self.subtitle.setText("No models are loaded.")

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= 560 else 1)

    def _card(self, text: str) -> QPushButton:
        card = _Card(text)
        card.setAccessibleName(f"Ask: {text}")
        card.setCursor(Qt.CursorShape.PointingHandCursor)
        look(card, "card")
        card.clicked.connect(self._choose)
        return card

    def _arrange(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = columns
            for number, card in enumerate(self.cards):
                self._cards.removeWidget(card)
                self._cards.addWidget(card, number // columns, number % columns)

    @Slot()
    def _choose(self) -> None:
        card = self.sender()
        if isinstance(card, _Card):
            self.chosen.emit(card.prompt)

    @Slot()
    def _colour(self) -> None:
        colours = self._theme.colours
        self.progress.setStyleSheet(
            f"QProgressBar {{ background: {colours.bubble}; border: none; border-radius: 3px; }}"
            f"QProgressBar::chunk {{ background: {colours.accent}; border-radius: 3px; }}"
        )


class _Card(QPushButton):
    """A button whose text wraps, which Qt's does not."""

    def __init__(self, prompt: str) -> None:
        super().__init__()
        self.prompt = prompt
        label = QLabel(prompt)
        label.setWordWrap(True)
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 13, 16, 13)
        layout.addWidget(label, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setMinimumHeight(68)
