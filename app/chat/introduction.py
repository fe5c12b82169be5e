"""The first page that a new user sees: what this is, which pair suits this machine, and a way to begin at once."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.conversations.wording import size
from app.language import tr
from app.models.recommendation import Recommendation
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look


def _what_it_is() -> str:
    return tr(
        "A large language model answers on this computer. A small one runs ahead and drafts; the large one checks a whole block of "
        "words at once. You get the large model’s own words, usually sooner."
    )


def private_words() -> str:
    """That nothing leaves the computer."""
    return tr("Nothing you write leaves this computer.")


class Introduction(QWidget):
    """Shown until the user has begun."""

    begun = Signal()  # with the demo pair
    choose = Signal()  # among the pairs of the catalogue

    def __init__(self, theme: Theme, found: Recommendation | None, no_gpu: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Welcome"))
        self.what = Label(_what_it_is())
        self.what.setWordWrap(True)
        self.what.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        set_look(self.what, "secondary")
        heading = Label(tr("Suits this computer"))
        theme.set_font(heading, SMALL, bold=True)
        set_look(heading, "secondary")
        self.name, self.why = Label(), Label()
        theme.set_font(self.name, 1.15, bold=True)
        theme.set_font(self.why, SMALL)
        set_look(self.why, "secondary")
        for label in (self.name, self.why):
            label.setWordWrap(True)
        self.choose_button = button(tr("Choose Models…"), tr("Choose among the pairs of the catalogue"), "bordered")
        self.choose_button.clicked.connect(self.choose)
        self.begin_button = button(tr("Try the Demo Pair Now"), tr("Begin with the demo pair"), "primary")
        self.begin_button.clicked.connect(self.begun)
        private = Label(
            tr("{private} The demo pair comes with Slipstream and needs no download; it is a toy.", private=private_words())
        )
        private.setWordWrap(True)
        private.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        theme.set_font(private, SMALL)
        set_look(private, "secondary")
        panel = QFrame()
        set_look(panel, "notice")
        inside = QVBoxLayout(panel)
        inside.setContentsMargins(20, 16, 20, 16)
        inside.setSpacing(4)
        inside.addWidget(heading)
        inside.addWidget(self.name)
        inside.addWidget(self.why)
        buttons = QHBoxLayout()
        buttons.setSpacing(12)
        buttons.addStretch(1)
        buttons.addWidget(self.choose_button)
        buttons.addWidget(self.begin_button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(18)
        layout.addWidget(self.what)
        layout.addWidget(panel)
        layout.addLayout(buttons)
        layout.addWidget(private)
        self.show_suiting(found, no_gpu)

    def show_suiting(self, found: Recommendation | None, no_gpu: bool = False) -> None:
        """Name the pair, with the arithmetic; without a GPU the demo pair, since any other would be too slow."""
        if found is None or no_gpu:
            self.name.setText(tr("The demo pair"))
            self.why.setText(
                tr("Slipstream finds no GPU here that it can use. On a processor alone, larger pairs answer too slowly.")
                if no_gpu
                else tr("No larger pair of the catalogue fits this computer’s memory and is fast enough, as far as is known.")
            )
            return
        bits = tr(", {bits} bits", bits=found.bits) if found.bits else ""
        self.name.setText(f"{found.entry.name}{bits}")
        about = tr("about ") if found.estimated else ""
        self.why.setText(
            tr(
                "Its two models take {about}{needed} of the {budget} that models may use here; the rest is for long "
                "chats and your other apps.",
                about=about,
                needed=size(found.needed),
                budget=size(found.budget),
            )
        )
