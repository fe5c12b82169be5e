"""What is known about a pair: a table of facts, and its memory in detail."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.conversations.wording import size, tokens
from app.language import number, tr, translated
from app.machine.this_mac import machine_title
from app.models.candidate import Candidate
from app.widgets.controls import button, small_label
from app.widgets.layout import column
from app.widgets.theme import Theme
from mlx_engine.pairs.fit import Fit


class FactTable(QWidget):
    """One line per fact, with its name on the left."""

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
        if facts == self.shown:
            return
        self.shown = facts
        while len(self._lines) < len(facts):
            self._lines.append(self._add_line(len(self._lines)))
        for index, line in enumerate(self._lines):
            for label in line:
                label.setVisible(index < len(facts))
        for (label, value), (name, text) in zip(self._lines, facts.items(), strict=False):
            label.setText(name)
            value.setText(text)
            value.setAccessibleName(f"{name}: {text}")

    def _add_line(self, row: int) -> tuple[QLabel, QLabel]:
        line = small_label(self._theme, look="secondary"), small_label(self._theme, wrap=True, selectable=True)
        for index, label in enumerate(line):
            label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            self._grid.addWidget(label, row, index)
        return line


def facts_of(one: Candidate, machine_measured: bool) -> dict[str, str]:
    """Return names and values, the most important first."""
    shown, entry, unknown = one.shown, one.entry, tr("Unknown")
    facts = {
        tr("Why this pair"): _advantages(one),
        **_speeds(one, machine_measured),
        tr("Published speedups"): _reported(one),
        tr("Context"): tokens(shown.context) if shown.context else unknown,
        tr("License"): shown.license or (entry.license if entry else None) or unknown,
    }
    if entry and entry.drafter_license:
        facts[tr("License")] += ", " + tr("drafter: {license}", license=entry.drafter_license)
    if shown.to_download is not None and shown.folders is None:
        facts[tr("Download")] = size(shown.to_download) if shown.to_download else tr("Nothing to download")
    kinds = []
    if entry and entry.generation:
        kinds.append("DFlash 2" if entry.generation == 2 else "DFlash")
    if entry and entry.block_size:
        kinds.append(tr("block size {count}", count=entry.block_size))
    facts[tr("Kind")] = ", ".join(filter(None, (*kinds, one.family)))
    if shown.pair is not None:
        facts[tr("Target")] = shown.pair.target
        facts[tr("Drafter")] = shown.pair.drafter or tr("None (plain decoding)")
    if shown.folders is not None:
        facts[tr("Location")] = str(shown.folders[0].parent if shown.folders[1] else shown.folders[0])
    return {name: text for name, text in facts.items() if text}


def _advantages(one: Candidate) -> str:
    sentences = []
    if one.verdict == "comfortable":
        sentences.append(tr("Leaves memory for long chats and other apps."))
    elif one.verdict == "tight":
        sentences.append(tr("Fits, with little memory to spare."))
    if "coding" in one.tags:
        sentences.append(tr("Trained for code."))
    if one.entry is not None and one.entry.generation == 2:
        sentences.append(tr("DFlash 2 drafter: more drafts are accepted."))
    if "small" in one.tags and one.shown.size:
        sentences.append(tr("Quick to download, light on memory."))
    return " ".join([*sentences, one.note]).strip()


def _speeds(one: Candidate, machine_measured: bool) -> dict[str, str]:
    dflash, plain = one.shown.speeds.get("dflash"), one.shown.speeds.get("plain")
    if speed := dflash or plain:
        facts = {tr("Speed"): f"{speed}. {translated(speed.reason)}"}
        if dflash and plain:
            facts[tr("Without DFlash")] = f"{plain}. {translated(plain.reason)}"
        return facts
    if one.why_not:
        return {}
    if not machine_measured:
        return {tr("Speed"): tr("To see an estimate, choose Help > {page} and measure this computer.", page=machine_title())}
    return {tr("Speed"): tr("Shown after a few replies.") if one.on_disk else tr("Estimated when the hub responds.")}


def _reported(one: Candidate) -> str:
    texts = []
    for reported in one.entry.reported if one.entry else ():
        low, high = (number(ratio, 2) for ratio in reported.speedup)
        if low == high:
            texts.append(tr("{ratio}× plain on {machine}", ratio=low, machine=reported.machine))
        else:
            texts.append(tr("{low} to {high}× plain on {machine}", low=low, high=high, machine=reported.machine))
    return "; ".join(texts)


class MemoryDetails(QWidget):
    """How a pair fits in memory, in a sentence and on request line by line."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reason = small_label(theme, wrap=True)
        self.toggle = button(tr("Show Memory Details"), look="disclosure")
        self.toggle.setCheckable(True)
        self.toggle.toggled.connect(self._open)
        self.table = FactTable(theme)
        self.table.setAccessibleName(tr("Memory details"))
        self.table.hide()
        column(self.reason, (self.toggle, 0, Qt.AlignmentFlag.AlignLeft), self.table, parent=self)

    def show_fit(self, fit: Fit | None, estimated: bool) -> None:
        """Show a fit, or an estimate from the size of the weights alone."""
        self.toggle.setVisible(fit is not None)
        self.table.setVisible(fit is not None and self.toggle.isChecked())
        if fit is None:
            self.reason.setText(tr("Memory use is unknown until the hub responds."))
            return
        needed, budget = size(fit.needed), size(fit.budget or 0)
        if not estimated:
            self.reason.setText(translated(fit.reason))
        elif fit.budget:
            self.reason.setText(
                tr("The weights take about {needed} of the {budget} available to models.", needed=needed, budget=budget)
            )
        else:
            self.reason.setText(tr("The weights take about {needed}.", needed=needed))
        names = {
            "Weights of both models": tr("Weights of both models"),
            "Target weights": tr("Target weights"),
            "Target K/V": tr("Target K/V"),
            "Recurrent state": tr("Recurrent state"),
            "Drafter weights": tr("Drafter weights"),
            "Drafter context": tr("Drafter context"),
            "Workspace": tr("Workspace"),
        }
        lines = {}
        for line in fit.lines:
            amount = tr("unknown") if line.bytes is None else size(line.bytes)
            lines[names.get(line.what, line.what)] = f"{amount}: {line.formula}" if line.formula else amount
        lines[tr("Total")] = needed if estimated else tr("{size} at {tokens}", size=needed, tokens=tokens(fit.context))
        if fit.budget is not None:
            free = [tr("{size} free now", size=size(fit.free))] if fit.free is not None else []
            lines[tr("This computer")] = "; ".join([tr("{size} for models", size=budget), *free])
        self.table.show_facts(lines)

    @Slot(bool)
    def _open(self, shown: bool) -> None:
        self.toggle.setText(tr("Hide Memory Details") if shown else tr("Show Memory Details"))
        self.toggle.setAccessibleName(self.toggle.text())
        self.table.setVisible(shown)
