"""The page of an empty chat: the state of the models, and sample prompts."""

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QSizePolicy, QWidget

from app.conversations.wording import size
from app.language import tr, translated
from app.models.survey import Recommendation
from app.widgets.controls import Label, ThinBar, button, small_label, styled_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look
from mlx_engine.events import LoadProgress, PairInfo

SAMPLES = (
    "How many positive whole-number divisors does 196 have?",
    "Write a Python function that checks if a number is prime.",
    "Convert 37 kilometres to metres.",
    "What is speculative decoding?",
)
MIN_CARD_HEIGHT = 68


class Introduction(QWidget):
    """The page that new users see: what Slipstream is, and the pair that suits this computer."""

    accepted = Signal()  # with the demo pair
    choose = Signal()  # open the catalog

    def __init__(self, theme: Theme, found: Recommendation | None, no_gpu: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Welcome"))
        what = tr(
            "A large language model runs on this computer. A small model drafts several words at a time, and the large "
            "one checks them all at once. You get exactly what the large model would write, usually faster."
        )
        self.what = styled_label(theme, what, "secondary", wrap=True)
        self.what.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        heading = small_label(theme, tr("Recommended for this computer"), "secondary", bold=True)
        self.name = styled_label(theme, size=1.15, bold=True, wrap=True)
        self.why = small_label(theme, look="secondary", wrap=True)
        self.choose_button = button(tr("Choose Models…"), look="bordered", clicked=self.choose.emit)
        self.begin_button = button(tr("Try the Demo Pair"), look="primary", clicked=self.accepted.emit)
        note = tr("Nothing you write leaves this computer. The included demo pair is only for trying out the app.")
        private = small_label(theme, note, "secondary", wrap=True)
        private.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        panel = QFrame()
        set_look(panel, "notice")
        column(heading, self.name, self.why, spacing=4, margins=(20, 16, 20, 16), parent=panel)
        buttons = row(None, self.choose_button, self.begin_button, None, spacing=12)
        column(self.what, panel, buttons, private, spacing=18, parent=self)
        self.show_recommendation(found, no_gpu)

    def show_recommendation(self, found: Recommendation | None, no_gpu: bool = False) -> None:
        """Show the recommended pair; without a GPU the demo pair, since others would be too slow."""
        if no_gpu:
            self.name.setText(tr("Demo pair"))
            self.why.setText(tr("Slipstream found no GPU. Larger pairs are too slow on a CPU."))
        elif found is None:
            self.name.setText(tr("Demo pair"))
            self.why.setText(tr("No larger pair in the catalog fits this computer's memory and is fast enough."))
        else:
            self.name.setText(f"{found.entry.name}{tr(', {bits}-bit', bits=found.target.bits) if found.target.bits else ''}")
            needed, budget = size(found.needed), size(found.budget)
            self.why.setText(
                tr("The models need about {needed} of the {budget} available to models.", needed=needed, budget=budget)
                if found.estimated
                else tr("The models need {needed} of the {budget} available to models.", needed=needed, budget=budget)
            )


class Welcome(QWidget):
    """Shown while the chat is empty."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        center = Qt.AlignmentFlag.AlignHCenter
        self.title = styled_label(theme, tr("Ask anything, faster"), size=1.75, bold=True, wrap=True)
        self.title.setAlignment(center)
        self.subtitle = styled_label(theme, look="secondary", wrap=True)
        self.subtitle.setAlignment(center)
        self.progress = ThinBar(theme, tr("Loading the models"))
        self.progress.setFixedWidth(280)
        self.introduction: Introduction | None = None
        self._cards = QGridLayout()
        self._cards.setSpacing(12)
        self.cards = [_Card(prompt, self.chosen) for prompt in SAMPLES]
        self._columns = 0
        self._layout = column(self.title, self.subtitle, (self.progress, 0, center), 22, self._cards, spacing=12, parent=self)
        self._layout.insertStretch(0, 2)
        self._layout.addStretch(3)
        self._arrange(2)
        self.show_state(None, None)

    def introduce(self, page: Introduction) -> None:
        """Show the page for new users."""
        self.introduction = page
        self._show_samples(False)
        self._layout.insertWidget(self._layout.indexOf(self.progress), page)

    def height_for(self, width: int) -> int:
        """Return the minimum height at this width."""
        return self._layout.heightForWidth(width)

    @Slot()
    def end_introduction(self) -> None:
        if self.introduction is None:
            return
        self.introduction.hide()
        self.introduction.deleteLater()
        self.introduction = None
        self._show_samples(True)

    def _show_samples(self, shown: bool) -> None:
        self.title.setText(tr("Ask anything, faster") if shown else tr("Welcome to Slipstream"))
        for widget in (self.subtitle, *self.cards):
            widget.setVisible(shown)

    def show_state(self, loading: LoadProgress | None, pair: PairInfo | None) -> None:
        self.progress.setVisible(loading is not None)
        for card in self.cards:
            card.setEnabled(pair is not None)
        if loading is not None:
            self.progress.show_fraction(loading.fraction)
            self.subtitle.setText(f"{translated(loading.step)}…")
        elif pair is not None and not pair.why_plain:
            self.subtitle.setText(tr("A small model drafts and the large one checks. The output is exactly the large model's."))
        elif pair is not None:
            self.subtitle.setText(tr("Ready (DFlash is off)"))
        else:
            self.subtitle.setText(tr("No models are loaded."))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= 560 else 1)

    def _arrange(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = columns
            for number, card in enumerate(self.cards):
                self._cards.removeWidget(card)
                self._cards.addWidget(card, number // columns, number % columns)


class _Card(QPushButton):
    """A button with wrapped text, which QPushButton does not support."""

    def __init__(self, prompt: str, chosen: SignalInstance) -> None:
        super().__init__()
        self.setAccessibleName(tr("Ask: {prompt}", prompt=prompt))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        set_look(self, "card")
        self.clicked.connect(lambda: chosen.emit(prompt))
        label = Label(prompt)
        label.setWordWrap(True)
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._content = column((label, 0, Qt.AlignmentFlag.AlignVCenter), margins=(16, 13, 16, 13), parent=self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return max(MIN_CARD_HEIGHT, self._content.heightForWidth(width))

    def sizeHint(self) -> QSize:
        return QSize(260, self.heightForWidth(260))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, MIN_CARD_HEIGHT)
