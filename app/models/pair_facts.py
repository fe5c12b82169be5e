"""What is known of a pair: a quiet table of facts, and the arithmetic of its memory on request."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from app.conversations.wording import size, tokens
from app.language import number, tr, translated
from app.machine.this_mac import machine_title
from app.models.candidate import Candidate, why_this_one
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.pairs.fit import Fit


def _unknown() -> str:
    return tr("Unknown")


def _part_names() -> dict[str, str]:
    return {
        "weights of both": tr("weights of both"),
        "target weights": tr("target weights"),
        "target K/V": tr("target K/V"),
        "recurrent state": tr("recurrent state"),
        "drafter weights": tr("drafter weights"),
        "drafter context": tr("drafter context"),
        "workspace": tr("workspace"),
    }  # of the sum, as mlx_engine.pairs.fit names them


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
        for place, (label, value) in enumerate(self._lines):
            label.setVisible(place < len(facts))
            value.setVisible(place < len(facts))
        for (label, value), (name, text) in zip(self._lines, facts.items(), strict=False):
            label.setText(name)
            value.setText(text)
            value.setAccessibleName(f"{name}: {text}")

    def _line(self, row: int) -> tuple[QLabel, QLabel]:
        label, value = Label(), Label()
        for column, each in enumerate((label, value)):
            self._theme.set_font(each, SMALL)
            each.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            self._grid.addWidget(each, row, column)
        set_look(label, "secondary")
        value.setWordWrap(True)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label, value


def facts_of(one: Candidate, measured_machine: bool) -> dict[str, str]:
    """Names and values, in the order in which they matter."""
    shown = one.shown
    facts: dict[str, str] = {}
    if why := why_this_one(one):
        facts[tr("Why this one")] = why
    if speed := shown.speeds.get("dflash") or shown.speeds.get("plain"):
        facts[tr("Speed")] = f"{speed}. {translated(speed.reason)}"
        plain = shown.speeds.get("plain")
        if plain is not None and plain is not speed:
            facts[tr("Without DFlash")] = f"{plain}. {translated(plain.reason)}"
    elif not one.why_not:
        if not measured_machine:
            facts[tr("Speed")] = tr("Not estimated yet. Help ▸ {page} measures how fast this computer is.", page=machine_title())
        else:
            facts[tr("Speed")] = (
                tr("Shown after a few replies.") if one.here else tr("Estimated once the hub has said which files there are.")
            )
    if one.reported:
        facts[tr("Others measured")] = "; ".join(
            tr("{ratio}× plain on {machine}", ratio=number(low, 2), machine=each.machine)
            if low == high
            else tr("{low} to {high}× plain on {machine}", low=number(low, 2), high=number(high, 2), machine=each.machine)
            for each in one.reported
            for low, high in [each.speedup]
        )
    facts[tr("Context")] = tokens(shown.context) if shown.context else _unknown()
    licences = [shown.license or one.license or _unknown()]
    if one.drafter_license:
        licences.append(tr("drafter {licence}", licence=one.drafter_license))
    facts[tr("Licence")] = ", ".join(licences)
    if shown.missing is not None and shown.folders is None:
        facts[tr("Download")] = tr("{size} to fetch", size=size(shown.missing)) if shown.missing else tr("Everything is here")
    kind = f"DFlash {one.generation}" if one.generation == 2 else "DFlash" if one.generation else ""
    parts = [kind, tr("block of {count}", count=one.block) if one.block else "", one.family]
    if any(parts):
        facts[tr("Kind")] = ", ".join(filter(None, parts))
    if shown.pair is not None:
        facts[tr("Target")] = shown.pair.target
        facts[tr("Drafter")] = shown.pair.drafter or tr("None: decodes plainly")
    if shown.folders is not None:
        facts[tr("On disk at")] = str(shown.folders[0].parent if shown.folders[1] else shown.folders[0])
    return facts


def verdict(fit: Fit) -> str:
    """Whether it fits, in a sentence with the sum."""
    needed = tr("Needs {size} at {tokens}", size=size(fit.needed), tokens=tokens(fit.context))
    budget, crowded = size(fit.budget or 0), fit.crowded
    match fit.verdict:
        case "unknown":
            return tr("What it needs is not known before its config.json says more.")
        case "no":
            return tr("{needed}, more than the {ceiling} that can be had here at all.", needed=needed, ceiling=size(fit.limit or 0))
        case "will swap":
            return tr(
                "{needed}, more than the {budget} that models may use here: the system would swap.", needed=needed, budget=budget
            )
        case _ if crowded:
            return tr(
                "{needed} of the {budget} that models may use here; {free} are free just now, so quit other programs first.",
                needed=needed,
                budget=budget,
                free=size(fit.free or 0),
            )
    return tr("{needed} of the {budget} that models may use here.", needed=needed, budget=budget)


class Arithmetic(QWidget):
    """The verdict's sentence, and the sum behind it line by line."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reason = Label()
        self.reason.setWordWrap(True)
        theme.set_font(self.reason, SMALL)
        self.toggle = button(tr("Show the arithmetic"), tr("Show the arithmetic"), "disclosure")
        self.toggle.setCheckable(True)
        self.toggle.toggled.connect(self._open)
        self.table = PairFacts(theme)
        self.table.setAccessibleName(tr("Memory line by line"))
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
            self.reason.setText(tr("How much memory it needs is not known before the hub was asked."))
        elif estimated:
            needed, budget = size(fit.needed), size(fit.budget or 0)
            weights = (
                tr("Its weights take about {needed} of the {budget} that models may use here.", needed=needed, budget=budget)
                if fit.budget
                else tr("Its weights take about {needed}.", needed=needed)
            )
            self.reason.setText(f"{weights} {tr('The exact sum comes with the hub’s answer.')}")
        else:
            self.reason.setText(verdict(fit))
        self.toggle.setVisible(fit is not None)
        if fit is None:
            self.table.hide()
            return
        lines = {
            _part_names().get(
                line.what, line.what
            ): f"{tr('unknown') if line.bytes is None else size(line.bytes)}: {translated(line.how)}"
            for line in fit.lines
        }
        needed = size(fit.needed)
        lines[tr("together")] = needed if estimated else tr("{size} at {tokens}", size=needed, tokens=tokens(fit.context))
        if fit.budget is not None:
            here = [tr("{size} for models", size=size(fit.budget))]
            if fit.free is not None:
                here.append(tr("{size} of memory are free just now", size=size(fit.free)))
            lines[tr("this machine")] = "; ".join(here)
        self.table.show_facts(lines)
        self.table.setVisible(self.toggle.isChecked())

    @Slot(bool)
    def _open(self, shown: bool) -> None:
        self.toggle.setText(tr("Hide the arithmetic") if shown else tr("Show the arithmetic"))
        self.toggle.setAccessibleName(self.toggle.text())
        self.table.setVisible(shown)
