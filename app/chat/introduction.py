"""The page that new users see: what Slipstream is, and the pair that suits this computer."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.conversations.wording import size
from app.language import tr
from app.models.recommendation import Recommendation
from app.widgets.controls import Label, button, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look


class Introduction(QWidget):
    accepted = Signal()  # with the demo pair
    choose = Signal()  # open the catalog

    def __init__(self, theme: Theme, found: Recommendation | None, no_gpu: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Welcome"))
        self.what = Label(
            tr(
                "A large language model runs on this computer. A small model drafts several words at a time, and the large "
                "one checks them all at once. You get exactly what the large model would write, usually faster."
            )
        )
        self.what.setWordWrap(True)
        self.what.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        set_look(self.what, "secondary")
        heading = small_label(theme, tr("Recommended for this computer"), "secondary", bold=True)
        self.name = Label()
        self.name.setWordWrap(True)
        theme.set_font(self.name, 1.15, bold=True)
        self.why = small_label(theme, look="secondary", wrap=True)
        self.choose_button = button(tr("Choose Models…"), look="bordered", clicked=self.choose.emit)
        self.begin_button = button(tr("Try the Demo Pair"), look="primary", clicked=self.accepted.emit)
        private = small_label(
            theme,
            tr("Nothing you write leaves this computer. The demo pair is included for trying out the app; its replies are poor."),
            "secondary",
            wrap=True,
        )
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
            self.why.setText(tr("No larger pair in the catalog fits this computer’s memory and is fast enough."))
        else:
            self.name.setText(f"{found.entry.name}{tr(', {bits} bits', bits=found.bits) if found.bits else ''}")
            needed, budget = size(found.needed), size(found.budget)
            self.why.setText(
                tr("The models need about {needed} of the {budget} available to models.", needed=needed, budget=budget)
                if found.estimated
                else tr("The models need {needed} of the {budget} available to models.", needed=needed, budget=budget)
            )
