"""The page of an empty chat: the state of the models, and sample prompts."""

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QPushButton, QSizePolicy, QWidget

from app.chat.introduction import Introduction
from app.language import tr, translated
from app.widgets.controls import Label, ThinBar, button
from app.widgets.layout import column
from app.widgets.theme import Theme, set_look
from mlx_engine.events import LoadProgress, PairInfo

SAMPLES = (
    "How many positive whole-number divisors does 196 have?",
    "Write a Python function that checks if a number is prime.",
    "Convert 37 kilometres to metres.",
    "What is speculative decoding?",
)
MIN_CARD_HEIGHT = 68


class Welcome(QWidget):
    """Shown while the chat is empty."""

    chosen = Signal(str)
    load = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Label(tr("Ask anything, faster"))
        theme.set_font(self.title, 1.75, bold=True)
        self.title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.title.setWordWrap(True)
        self.subtitle = Label()
        self.subtitle.setWordWrap(True)
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        set_look(self.subtitle, "secondary")
        self.progress = ThinBar(theme, tr("Loading the models"))
        self.progress.setFixedWidth(280)
        self.load_again = button(tr("Load Again"), tr("Load the models again"), "bordered", self.load.emit)
        self._has_loaded = False  # loading has started once
        self.introduction: Introduction | None = None
        self._cards = QGridLayout()
        self._cards.setSpacing(12)
        self.cards = [self._card(text) for text in SAMPLES]
        self._columns = 0
        center = Qt.AlignmentFlag.AlignHCenter
        self._layout = column(
            self.title,
            self.subtitle,
            (self.progress, 0, center),
            (self.load_again, 0, center),
            22,
            self._cards,
            spacing=12,
            parent=self,
        )
        self._layout.insertStretch(0, 2)
        self._layout.addStretch(3)
        self._arrange(2)
        self.show_state(None, None)

    def introduce(self, page: Introduction) -> None:
        """Show the page for new users."""
        self.introduction = page
        self.title.setText(tr("Welcome to Slipstream"))
        self.subtitle.hide()
        for card in self.cards:
            card.hide()
        self._layout.insertWidget(self._layout.indexOf(self.progress), page)

    def height_for(self, width: int) -> int:
        """Return the minimum height at this width."""
        layout = self.layout()
        return layout.heightForWidth(width) if layout is not None else 0

    @Slot()
    def end_introduction(self) -> None:
        if self.introduction is None:
            return
        self.introduction.hide()
        self.introduction.deleteLater()
        self.introduction = None
        self.title.setText(tr("Ask anything, faster"))
        self.subtitle.show()
        for card in self.cards:
            card.show()

    def show_state(self, loading: LoadProgress | None, pair: PairInfo | None) -> None:
        self.progress.setVisible(loading is not None)
        self.load_again.setVisible(loading is None and pair is None and self._has_loaded)
        self._has_loaded = self._has_loaded or loading is not None
        for card in self.cards:
            card.setEnabled(pair is not None)
        if loading is not None:
            self.progress.show_fraction(loading.fraction)
            self.subtitle.setText(f"{translated(loading.step)}…")
        elif pair is not None and not pair.why_plain:
            self.subtitle.setText(tr("A small model drafts and the large one checks, with exactly the large model’s output."))
        elif pair is not None:
            self.subtitle.setText(tr("Ready (DFlash is off)"))
        else:
            self.subtitle.setText(tr("No models are loaded."))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= 560 else 1)

    def _card(self, text: str) -> QPushButton:
        card = _Card(text)
        card.setAccessibleName(tr("Ask: {prompt}", prompt=text))
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


class _Card(QPushButton):
    """A button with wrapped text, which QPushButton does not support."""

    def __init__(self, prompt: str) -> None:
        super().__init__()
        self.prompt = prompt
        label = Label(prompt)
        label.setWordWrap(True)
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column((label, 0, Qt.AlignmentFlag.AlignVCenter), margins=(16, 13, 16, 13), parent=self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return max(MIN_CARD_HEIGHT, layout.heightForWidth(width) if layout is not None else 0)

    def sizeHint(self) -> QSize:
        return QSize(260, self.heightForWidth(260))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, MIN_CARD_HEIGHT)
