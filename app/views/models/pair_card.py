"""Details of the selected pair: actions, memory, and facts."""

import re

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLabel, QWidget

from app.session.conductor import Conductor
from app.session.downloads import PairState
from app.session.model_list import Candidate, Variant
from app.session.picker import Picker
from app.session.recommendation import precision_note
from app.session.tuning_survey import why_not_tunable
from app.storage.wording import rate_range, size, tokens
from app.text.language import number, sentences, tr, translated, unbroken
from app.views.machine.this_mac import machine_title
from app.widgets.controls import Label, ThinBar, as_tooltip, button, small_label, styled_label
from app.widgets.layout import ScrollingPage, column, flow, line
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.contract.limits import WINDOWED_CONTEXT
from mlx_engine.drafters.registry import KINDS
from mlx_engine.models.downloads.hub import needs_token
from mlx_engine.models.fit import Fit

MAX_WIDTH = 688
WORD_CHARS = 24  # of a word that is never cut off


class PairCard(ScrollingPage):
    """A page about the selected pair. The main button downloads or loads the pair."""

    def __init__(self, theme: Theme, picker: Picker, conductor: Conductor) -> None:
        super().__init__(QWidget())
        self._picker, self._conductor = picker, conductor
        self.setAccessibleName(tr("Selected pair"))
        self.title = styled_label(theme, size=1.4, bold=True, wrap=True)
        self.variants = QComboBox()
        self.variants.setAccessibleName(tr("Quantization"))
        self.variants.activated.connect(self._choose_quantization)
        self.drafters = QComboBox()
        self.drafters.setAccessibleName(tr("Drafter"))
        self.drafters.activated.connect(self._choose_drafter)
        for box in (self.variants, self.drafters):
            theme.set_font(box, SMALL)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.verdict = small_label(theme)
        self.unconfirmed = small_label(theme, tr("Not verified"), "chip")
        self.unconfirmed.setToolTip(tr("Not verified by Slipstream"))
        self.main = button("", "", "primary", self._act)
        self.main.setMinimumHeight(32)
        self.pause = button(tr("Pause"), tr("Pause the download"), "bordered", picker.pause)
        self.cancel = button(tr("Cancel"), "", "bordered", picker.cancel)
        self.tune = button(tr("Tune Drafter…"), tr("Tune the drafter to your messages"), "bordered")
        self.delete = button(tr("Remove Download"), tr("Delete this pair from disk"), "bordered", picker.delete)
        self.remove = button(
            tr("Remove from List"), tr("Remove this pair from the list and keep its files"), "bordered", picker.remove
        )
        self.bar = ThinBar(theme, tr("Progress"))
        self.progress = small_label(theme, look="secondary", wrap=True)
        self.problem = small_label(theme, wrap=True, selectable=True)
        self.again = button(tr("Try Again"), tr("Check the hub again"), "bordered", picker.check_hub)
        self.token = button(tr("Enter Token…"), tr("Enter a hub token"), "bordered")
        self._panel = QFrame()
        column(self.problem, flow(self.token, self.again), margins=(16, 8, 16, 8), parent=self._panel)
        self.memory = MemoryDetails(theme)
        self.facts = FactTable(theme)
        self.page.setMaximumWidth(MAX_WIDTH)
        column(
            self.title,
            flow(self.verdict, self.unconfirmed),
            flow(self.main, self.variants, self.drafters, self.pause, self.cancel, self.tune, self.delete, self.remove),
            self.bar,
            self.progress,
            self._panel,
            self.memory,
            line(),
            self.facts,
            None,
            spacing=16,
            margins=(24, 24, 24, 24),
            parent=self.page,
        )
        picker.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        one = self._picker.current
        self.page.setVisible(one is not None)
        if one is None or one.connection is not None:
            return
        state = self._picker.state(one)
        self.title.setText(one.name)
        self.verdict.setText(one.verdict_text)
        set_look(self.verdict, "chip-accent" if one.fits and not one.shown.slow else "chip")
        self.unconfirmed.setVisible(not one.confirmed and not one.why_not and not one.shown.checked and not one.shown.folders)
        self._show_variants(one, state)
        self._show_actions(one, state)
        self._show_progress(one, state)
        self._show_problem(one, state)
        self.memory.setVisible(not one.why_not)
        self.memory.show_fit(one.shown.fit, one.shown.estimated)
        self.facts.show_facts(facts_of(one, self._picker.machine_measured))

    def _show_variants(self, one: Candidate, state: PairState) -> None:
        chosen = state in ("waiting", "running", "loading")
        names, shown = _drafter_names(one), one.alternatives.index(one.index)
        drafters = [_drafter_label(name, one.variants[index]) for index, name in names.items()]
        if one.automatic is not None:
            drafters.insert(0, tr("Auto: {drafter}", drafter=names[one.automatic]))
            shown = 0 if one.auto else shown + 1
        boxes = (
            (self.variants, one.labels, one.labels.index(one.shown.label)),
            (self.drafters, drafters, shown),
        )
        for box, labels, index in boxes:
            if [box.itemText(at) for at in range(box.count())] != labels:
                box.clear()
                box.addItems(labels)
            box.setCurrentIndex(index)
            box.setToolTip(as_tooltip(box.currentText()))  # in full if there is too little space
            box.setVisible(len(labels) > 1 and not chosen)

    @Slot(int)
    def _choose_quantization(self, index: int) -> None:
        """Show another quantization with the same drafter if it is on offer."""
        if (one := self._picker.current) is not None:
            offered = [at for at, variant in enumerate(one.variants) if variant.label == one.labels[index]]
            same = [at for at in offered if one.variants[at].drafter == one.shown.drafter]
            self._picker.show_variant((same or offered)[0], one.auto)

    @Slot(int)
    def _choose_drafter(self, index: int) -> None:
        if (one := self._picker.current) is not None:
            first = int(one.automatic is not None)
            self._picker.show_variant(one.alternatives[max(index - first, 0)], auto=index < first)

    def _show_actions(self, one: Candidate, state: PairState) -> None:
        busy = self._conductor.busy
        if state == "absent":
            checking = one.shown.pair in self._picker.checking and not one.confirmed
            text = "" if one.why_not else tr("Checking…") if checking else _download(one.shown)
        else:
            text = {"paused": tr("Resume"), "failed": tr("Resume"), "ready": tr("Use"), "loaded": tr("In use")}.get(state, "")
        self.main.setText(text)
        self.main.setVisible(bool(text))
        self.main.setEnabled(
            state in ("paused", "failed")
            or (state == "absent" and self._picker.can_download)
            or (state == "ready" and not self._conductor.loader.running and not busy)
        )
        self.main.setToolTip(tr("Wait for the reply to finish.") if state == "ready" and busy else "")
        in_use = tr("{name} is in use", name=one.name)
        self.main.setAccessibleName(in_use if state == "loaded" else tr("{action}: {name}", action=text, name=one.name))
        self.pause.setVisible(state in ("running", "waiting"))
        self.cancel.setVisible(state in ("running", "waiting", "paused", "failed", "loading"))
        self.cancel.setAccessibleName(
            tr("Cancel loading") if state == "loading" else tr("Cancel the download and delete the partial files")
        )
        self.cancel.setToolTip(self.cancel.accessibleName())
        loaded = self._conductor.loader.pair
        self.tune.setVisible(state == "loaded" and loaded is not None and bool(loaded.drafter))
        why_not = why_not_tunable(self._conductor.loader)
        self.tune.setEnabled(not why_not)
        self.tune.setToolTip(as_tooltip(why_not))
        self.tune.setAccessibleDescription(why_not)
        self.delete.setVisible(bool(self._picker.deletable))
        self.remove.setVisible(one.custom is not None and state in ("absent", "unavailable", "ready"))

    def _show_progress(self, one: Candidate, state: PairState) -> None:
        download, loading = self._picker.download_of(one), self._conductor.loader.progress
        shown = (state == "loading" and loading is not None) or download is not None
        if state == "loading" and loading is not None:
            self.bar.show_fraction(loading.fraction)
            self.progress.setText(f"{translated(loading.step)}…")
        elif download is not None:
            self.bar.show_fraction(download.fraction)
            self.progress.setText(download.text)
        self.bar.setVisible(shown)
        self.bar.setAccessibleDescription(self.progress.text())
        self.progress.setVisible(shown)

    def _show_problem(self, one: Candidate, state: PairState) -> None:
        download = self._picker.download_of(one)
        failed = download is not None and state == "failed"
        problem = one.shown.problem if state == "absent" else None
        reason = one.why_not or (download.note if download is not None and failed else problem)
        text = translated(reason) if reason else ""
        if not text and state == "absent" and one.shown.drafter is not None and one.shown.drafter.gated:
            text = tr("This model is gated: you may have to accept its conditions on the hub first.")
        text = text or (translated(one.shown.chat_problem) if one.shown.chat_problem else "")
        self.problem.setText(text)
        self._panel.setVisible(bool(text))
        set_look(self._panel, "error" if failed or (reason is not None and reason is problem) else "notice")
        self.token.setVisible(reason is not None and needs_token(reason) and state in ("absent", "failed"))
        self.again.setVisible(reason is not None and reason is problem)

    @Slot()
    def _act(self) -> None:
        if (one := self._picker.current) is not None:
            (self._picker.use if self._picker.state(one) == "ready" else self._picker.download)()


def _download(shown: Variant) -> str:
    if shown.to_download:
        return tr("Download {size}", size=size(shown.to_download))
    if shown.to_download is None and shown.size:
        return tr("Download about {size}", size=size(shown.size))
    return tr("Download")


class _FactLabel(Label):
    """A wrapping label that very long words don't widen."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), WORD_CHARS * self.fontMetrics().averageCharWidth()), hint.height())


class FactTable(QWidget):
    """A table with one row per fact, and the fact's name on the left."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(1, 1)
        self.shown: dict[str, str] = {}

    def show_facts(self, facts: dict[str, str]) -> None:
        if facts == self.shown:
            return
        self._grid.setRowStretch(len(self.shown), 0)
        self._grid.setRowStretch(len(facts), 1)  # extra height goes below the facts, not between them
        self.shown = facts
        for old in self.findChildren(QLabel):
            old.deleteLater()
        for index, (name, text) in enumerate(facts.items()):
            value = _FactLabel(text if name == tr("Location") else unbroken(text))  # a copied path must stay as it is
            self._theme.set_font(value, SMALL)
            value.setAccessibleName(f"{name}: {text}")
            for position, label in enumerate((small_label(self._theme, name, "secondary", wrap=True), value)):
                label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
                self._grid.addWidget(label, index, position)


def facts_of(one: Candidate, machine_measured: bool) -> dict[str, str]:
    """Return the names and values of a pair's facts, most important first."""
    shown, entry, drafter, unknown = one.shown, one.entry, one.shown.drafter, tr("Unknown")
    facts = {
        tr("Why this pair"): _advantages(one),
        **_speeds(one, machine_measured),
        tr("Published speedups"): _reported(one),
        tr("Context"): _context(shown) or unknown,
        tr("License"): license_name(shown.license or (entry.license if entry else None) or "unknown"),
    }
    if drafter and drafter.license:
        facts[tr("License")] += ", " + tr("drafter: {license}", license=license_name(drafter.license))
    if shown.to_download is not None and shown.folders is None:
        facts[tr("Download")] = size(shown.to_download) if shown.to_download else tr("Nothing to download")
    block = shown.config.block_size if shown.config else drafter.block_size if drafter else None
    kinds = (shown.kind, tr("block size {count}", count=block) if block else "", one.family)
    facts[tr("Kind")] = ", ".join(filter(None, kinds))
    if shown.pair is not None:
        facts[tr("Target")] = shown.pair.target
        facts[tr("Drafter")] = shown.pair.drafter or tr("None (plain decoding)")
    if shown.folders is not None:
        facts[tr("Location")] = str(shown.folders[0].parent if shown.folders[1] else shown.folders[0])
    return {name: text for name, text in facts.items() if text}


def license_name(id: str) -> str:
    """Return the readable name of a license, such as “Apache 2.0” for "apache-2.0"."""
    names = {
        "apache-2.0": "Apache 2.0",
        "mit": "MIT",
        "bsd-3-clause": "BSD 3-Clause",
        "openmdw-1.1": "OpenMDW 1.1",
        "gemma": "Gemma Terms of Use",
        "glm-5.3": "GLM-5.3 License",
        "other": tr("Other"),
        "unknown": tr("Unknown"),
    }
    if llama := re.fullmatch(r"llama-?(\d(?:\.\d)?)", id):
        return f"Llama {llama[1]} Community"
    if creative_commons := re.fullmatch(r"cc-([a-z-]+)-(\d\.\d)", id):
        return f"CC {creative_commons[1].upper()} {creative_commons[2]}"
    return names.get(id, id)


def _context(shown: Variant) -> str:
    """Return the context length, and how much of it DFlash speeds up if less."""
    if not shown.context:
        return ""
    if shown.config is None or not shown.config.windowed or shown.context <= WINDOWED_CONTEXT:
        return tokens(shown.context)
    least = number(WINDOWED_CONTEXT)
    return tr("{context}. DFlash helps little beyond about {least}.", context=tokens(shown.context), least=least)


def _drafter_name(variant: Variant) -> str:
    """Return a drafter's kind and maker, or its folder if it isn't from the hub."""
    kind = variant.kind or tr("Drafter")
    if variant.pair is not None and variant.pair.drafter:
        return tr("{kind} by {maker}", kind=kind, maker=variant.pair.drafter.split("/")[0])
    folder = variant.folders[1] if variant.folders else None
    return f"{kind} · {folder.name}" if folder else kind


def _drafter_names(one: Candidate) -> dict[int, str]:
    """Return the names of a row's drafters, with repos where names are the same."""
    names = {index: _drafter_name(one.variants[index]) for index in one.alternatives}
    for index in [index for index, name in names.items() if [*names.values()].count(name) > 1]:
        pair = one.variants[index].pair
        if pair is not None and pair.drafter:
            names[index] += " · " + pair.drafter.split("/")[-1]
    return names


def _drafter_label(name: str, variant: Variant) -> str:
    """Return a drafter's name, precision, size, and expected or reported speed."""
    drafter, parts = variant.drafter, [name]
    if drafter and drafter.bits:
        parts.append(tr("{bits}-bit", bits=drafter.bits))
    if drafter and drafter.size_gb:
        parts.append(size(round(drafter.size_gb * 1e9)))
    if speed := variant.speeds.get("dflash"):
        parts.append(rate_range(speed.low, speed.high))
    elif ratios := [ratio for reported in (drafter.reported if drafter else ()) for ratio in reported.speedup]:
        low, high = number(min(ratios), 1), number(max(ratios), 1)
        parts.append(f"{low}×" if low == high else f"{low}–{high}×")
    return " · ".join(parts)


def _advantages(one: Candidate) -> str:
    reasons = []
    if one.shown.pair is not None and one.shown.pair.target == one.recommended:
        reasons.append(tr("Recommended for this computer."))
    pays = one.fits and not one.shown.slow  # a pair that is too slow or too large has no such advantages
    if pays and one.verdict == "comfortable":
        reasons.append(tr("Leaves memory for long chats and other apps."))
    elif pays:
        reasons.append(tr("Fits, with little memory to spare."))
    if "coding" in one.tags:
        reasons.append(tr("Trained for code."))
    if (kind := KINDS.get(one.shown.kind)) and kind.accepts_more:
        reasons.append(tr("{kind} drafter, with a higher acceptance rate.", kind=kind.name))
    if pays and len(one.labels) > 1:
        reasons.append(precision_note(one.shown.bits))
    if pays and "small" in one.tags and one.shown.size and one.shown.folders is None:
        reasons.append(tr("Quick to download and light on memory."))
    notes = {
        "The drafter was trained on non-thinking replies.": tr("The drafter was trained on non-thinking replies."),
        "The drafter was fine-tuned for Three.js code.": tr("The drafter was fine-tuned for Three.js code."),
    }
    note = one.shown.drafter.note if one.shown.drafter else ""
    return sentences(*reasons, notes.get(note, note), one.note)


def _speeds(one: Candidate, machine_measured: bool) -> dict[str, str]:
    dflash, plain = one.shown.speeds.get("dflash"), one.shown.speeds.get("plain")
    if speed := dflash or plain:
        facts = {tr("Speed"): sentences(rate_range(speed.low, speed.high), translated(speed.reason))}
        if dflash and plain:
            facts[tr("Without DFlash")] = sentences(rate_range(plain.low, plain.high), translated(plain.reason))
        return facts
    if one.why_not:
        return {}
    if one.shown.needs_gpu:
        return {tr("Speed"): tr("Too slow without a GPU.")}
    if not machine_measured:
        return {tr("Speed"): tr("To see an estimate, choose Help ▸ {page} and measure this computer.", page=machine_title())}
    return {tr("Speed"): tr("Shown after a few replies.") if one.on_disk else tr("Estimated when the hub responds.")}


def _reported(one: Candidate) -> str:
    texts = []
    for reported in one.shown.drafter.reported if one.shown.drafter else ():
        low, high = (number(ratio, 2) for ratio in reported.speedup)
        if low == high:
            texts.append(tr("{ratio}× the plain speed on {machine}", ratio=low, machine=reported.machine))
        else:
            texts.append(tr("{low} to {high}× the plain speed on {machine}", low=low, high=high, machine=reported.machine))
    return "; ".join(texts)


def memory_names() -> dict[str, str]:
    """Return the translated names of the lines of a fit."""
    return {
        "Weights of both models": tr("Weights of both models"),
        "Target weights": tr("Target weights"),
        "Target KV cache": tr("Target KV cache"),
        "Recurrent state": tr("Recurrent state"),
        "Drafter weights": tr("Drafter weights"),
        "Drafter context": tr("Drafter context"),
        "Workspace": tr("Workspace"),
    }


class MemoryDetails(QWidget):
    """A sentence about the memory that a pair needs, and a table of details."""

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
        """Show a fit, or an estimate from the size of the weights."""
        self.toggle.setVisible(fit is not None)
        self.table.setVisible(fit is not None and self.toggle.isChecked())
        if fit is None:
            self.reason.setText(tr("Memory use is unknown until the hub responds."))
            return
        needed, budget = size(fit.needed), size(fit.budget or 0)
        if not estimated:
            self.reason.setText(unbroken(translated(fit.reason)))
        elif fit.budget and fit.needed > fit.budget:
            text = tr("The weights need about {needed}, more than the {budget} available to models.", needed=needed, budget=budget)
            self.reason.setText(text)
        elif fit.budget:
            self.reason.setText(
                tr("The weights need about {needed} of the {budget} available to models.", needed=needed, budget=budget)
            )
        else:
            self.reason.setText(tr("The weights need about {needed} of memory.", needed=needed))
        names = memory_names()
        lines = {}
        for part in fit.lines:
            amount = tr("Unknown") if part.bytes is None else size(part.bytes)
            lines[names[part.what]] = f"{amount}: {part.formula}" if part.formula else amount
        lines[tr("Total")] = needed if estimated else tr("{size} at {tokens}", size=needed, tokens=tokens(fit.context))
        if fit.budget is not None:
            lines[tr("Recent chats")] = tr("Up to {size} more", size=size(fit.snapshots))
            free = [tr("{size} free now", size=size(fit.free))] if fit.free is not None else []
            lines[tr("This computer")] = "; ".join([tr("{size} for models", size=budget), *free])
        self.table.show_facts(lines)

    @Slot(bool)
    def _open(self, shown: bool) -> None:
        self.toggle.setText(tr("Hide Memory Details") if shown else tr("Show Memory Details"))
        self.toggle.setAccessibleName(self.toggle.text())
        self.table.setVisible(shown)
