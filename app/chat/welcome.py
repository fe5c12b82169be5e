"""The empty chat: what it is loading, and four things to ask; before the first of all, what this is."""

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QProgressBar, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.chat.introduction import Introduction
from app.language import tr, translated
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import Theme, set_look
from mlx_engine.events import LoadProgress, PairInfo


def _welcome_title() -> str:
    return tr("Ask anything, faster")


SAMPLES = (
    "How many positive whole-number divisors does 196 have?",
    "Write a Python function that checks if a number is prime.",
    "Convert 37 kilometres to metres.",
    "What is speculative decoding?",
)


LOWEST_CARD = 68


class Welcome(QWidget):
    """Shown while there are no turns."""

    chosen = Signal(str)
    load = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.title = Label(_welcome_title())
        theme.set_font(self.title, 1.75, bold=True)
        self.title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.title.setWordWrap(True)
        self.subtitle = Label()
        self.subtitle.setWordWrap(True)
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        set_look(self.subtitle, "secondary")
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(6)
        self.progress.setFixedWidth(280)
        self.progress.setAccessibleName(tr("Loading the models"))
        self.load_again = button(tr("Load Again"), tr("Load the models again"), "bordered")
        self.load_again.clicked.connect(self.load)
        self._began = False  # a loading was seen
        self.introduction: Introduction | None = None
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
        layout.addWidget(self.load_again, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(22)
        self._layout = layout
        layout.addLayout(self._cards)
        layout.addStretch(3)
        self._arrange(2)
        theme.changed.connect(self._color)
        self._color()
        self.show_state(None, None)

    def introduce(self, page: Introduction) -> None:
        """Show this until the user has begun."""
        self.introduction = page
        self.title.setText(tr("Welcome to Slipstream"))
        self.subtitle.hide()
        for card in self.cards:
            card.hide()
        self._layout.insertWidget(self._layout.indexOf(self.progress), page)

    def height_for(self, width: int) -> int:
        """The least height that shows it all."""
        layout = self.layout()
        return layout.heightForWidth(width) if layout is not None else 0

    @Slot()
    def end_introduction(self) -> None:
        """The usual page from now on."""
        if self.introduction is None:
            return
        self.introduction.hide()
        self.introduction.deleteLater()
        self.introduction = None
        self.title.setText(_welcome_title())
        self.subtitle.show()
        for card in self.cards:
            card.show()

    def show_state(self, loading: LoadProgress | None, pair: PairInfo | None) -> None:
        """Say what is loaded or loading."""
        self.progress.setVisible(loading is not None)
        self.load_again.setVisible(loading is None and pair is None and self._began)
        self._began = self._began or loading is not None
        for card in self.cards:
            card.setEnabled(pair is not None)
        if loading is not None:
            self.progress.setValue(round(1000 * loading.fraction))
            self.subtitle.setText(f"{translated(loading.step)}…")
        elif pair is not None and not pair.why_plain:
            self.subtitle.setText(tr("The small model drafts, the large one checks. Every word is the large model's own."))
        elif pair is not None:
            self.subtitle.setText(tr("Ready, without DFlash."))
        else:
            self.subtitle.setText(tr("No models are loaded, so nothing can answer."))

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= 560 else 1)

    def _card(self, text: str) -> QPushButton:
        card = _Card(text)
        card.setAccessibleName(tr("Ask: {value}", value=text))
        card.setCursor(Qt.CursorShape.PointingHandCursor)
        set_look(card, "card")
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
    def _color(self) -> None:
        colors = self._theme.colors
        self.progress.setStyleSheet(
            f"QProgressBar {{ background: {colors.bubble}; border: none; border-radius: 3px; }}"
            f"QProgressBar::chunk {{ background: {colors.accent}; border-radius: 3px; }}"
        )


class _Card(QPushButton):
    """A button whose text wraps, which Qt's does not."""

    def __init__(self, prompt: str) -> None:
        super().__init__()
        self.prompt = prompt
        label = Label(prompt)
        label.setWordWrap(True)
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 13, 16, 13)
        layout.addWidget(label, 0, Qt.AlignmentFlag.AlignVCenter)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return max(LOWEST_CARD, layout.heightForWidth(width) if layout is not None else 0)

    def sizeHint(self) -> QSize:
        return QSize(260, self.heightForWidth(260))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, LOWEST_CARD)
