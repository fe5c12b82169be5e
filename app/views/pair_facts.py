"""What is known of a pair: a quiet table of facts, and the arithmetic of its memory on request."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from app.conversations.words import size
from app.picking.candidate import Candidate, why_this_one
from app.views.button import button
from app.views.theme import SMALL, Theme, look
from app.views.this_mac import TITLE
from mlx_engine.pairs.fit import Fit

UNKNOWN = "Unknown"


class PairFacts(QWidget):
    """One line a fact, its name on the left."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(1, 1)
        self.shown: dict[str, str] = {}

    def show_facts(self, facts: dict[str, str]) -> None:
        """Show these, in this order; nothing is touched if they are what is shown."""
        if facts == self.shown:
            return
        self.shown = facts
        while len(self._lines) < len(facts):
            self._lines.append(self._line(len(self._lines)))
        for number, (label, value) in enumerate(self._lines):
            label.setVisible(number < len(facts))
            value.setVisible(number < len(facts))
        for (label, value), (name, text) in zip(self._lines, facts.items(), strict=False):
            label.setText(name)
            value.setText(text)
            value.setAccessibleName(f"{name}: {text}")

    def _line(self, row: int) -> tuple[QLabel, QLabel]:
        label, value = QLabel(), QLabel()
        for column, each in enumerate((label, value)):
            self._theme.set_font(each, SMALL)
            each.setTextFormat(Qt.TextFormat.PlainText)
            each.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            self._grid.addWidget(each, row, column)
        look(label, "secondary")
        value.setWordWrap(True)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label, value


def facts_of(one: Candidate, measured_machine: bool) -> dict[str, str]:
    """Names and values, in the order in which they matter."""
    shown = one.shown
    facts: dict[str, str] = {}
    if why := why_this_one(one):
        facts["Why this one"] = why
    if speed := shown.speeds.get("dflash") or shown.speeds.get("plain"):
        facts["Speed"] = f"{speed}. {speed.reason}"
        plain = shown.speeds.get("plain")
        if plain is not None and plain is not speed:
            facts["Without DFlash"] = f"{plain}. {plain.reason}"
    elif not one.why_not:
        if not measured_machine:
            facts["Speed"] = f"Not estimated yet. Help ▸ {TITLE} measures how fast this computer is."
        else:
            facts["Speed"] = "Shown after a few replies." if one.here else "Estimated once the hub has said which files there are."
    if one.reported:
        facts["Others measured"] = "; ".join(
            f"{low:g}× plain on {each.machine}" if low == high else f"{low:g} to {high:g}× plain on {each.machine}"
            for each in one.reported
            for low, high in [each.speedup]
        )
    facts["Context"] = f"{shown.context:,} tokens" if shown.context else UNKNOWN
    licences = [f"{shown.license or one.license or UNKNOWN}", f"drafter {one.drafter_license}" if one.drafter_license else ""]
    facts["Licence"] = ", ".join(filter(None, licences))
    if shown.missing is not None and shown.folders is None:
        facts["Download"] = f"{size(shown.missing)} to fetch" if shown.missing else "Everything is here"
    kind = f"DFlash {one.generation}" if one.generation == 2 else "DFlash" if one.generation else ""
    parts = [kind, f"block of {one.block}" if one.block else "", one.family]
    if any(parts):
        facts["Kind"] = ", ".join(filter(None, parts))
    if shown.pair is not None:
        facts["Target"] = shown.pair.target
        facts["Drafter"] = shown.pair.drafter or "None: decodes plainly"
    if shown.folders is not None:
        facts["On disk at"] = str(shown.folders[0].parent if shown.folders[1] else shown.folders[0])
    return facts


class Arithmetic(QWidget):
    """The verdict's sentence, and the sum behind it line by line."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reason = QLabel()
        self.reason.setWordWrap(True)
        theme.set_font(self.reason, SMALL)
        self.toggle = button("Show the arithmetic", "Show the arithmetic", "disclosure")
        self.toggle.setCheckable(True)
        self.toggle.toggled.connect(self._open)
        self.table = PairFacts(theme)
        self.table.setAccessibleName("Memory line by line")
        self.table.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.reason)
        layout.addWidget(self.toggle, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self.table)

    def show_fit(self, fit: Fit | None, estimated: bool) -> None:
        """Show it; None: there is nothing to go by. `estimated`: only the weights' size is known, and that nearly."""
        if fit is None:
            self.reason.setText("How much memory it needs is not known before the hub was asked.")
        elif estimated:
            budget = f" of the {size(fit.budget)} that models may use here" if fit.budget else ""
            self.reason.setText(f"Its weights take about {size(fit.needed)}{budget}. The exact sum comes with the hub’s answer.")
        else:
            self.reason.setText(fit.reason)
        self.toggle.setVisible(fit is not None)
        if fit is None:
            self.table.hide()
            return
        lines = {line.what: f"{'unknown' if line.bytes is None else size(line.bytes)}: {line.how}" for line in fit.lines}
        lines["together"] = f"{size(fit.needed)}{'' if estimated else f' at {fit.context:,} tokens'}"
        if fit.budget is not None:
            free = f"; {size(fit.free)} of memory are free just now" if fit.free is not None else ""
            lines["this machine"] = f"{size(fit.budget)} for models{free}"
        self.table.show_facts(lines)
        self.table.setVisible(self.toggle.isChecked())

    @Slot(bool)
    def _open(self, shown: bool) -> None:
        self.toggle.setText("Hide the arithmetic" if shown else "Show the arithmetic")
        self.toggle.setAccessibleName(self.toggle.text())
        self.table.setVisible(shown)
