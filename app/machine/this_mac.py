"""What this machine can do at most, and what the loaded pair makes of it."""

import sys

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QFrame, QGridLayout, QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.language import number, tr, translated
from app.machine.roofline_chart import RooflineChart
from app.transcript.message import NoticeView
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import Theme, set_look
from mlx_engine.events import MachineFacts, Phase, Roofline


def machine_title() -> str:
    """What the page about this machine is called."""
    return tr("This Mac") if sys.platform == "darwin" else tr("This Computer")


def _phase_names() -> dict[str, str]:
    return {
        "prefill": tr("Reading a prompt"),
        "plain": tr("A plain step"),
        "verify": tr("Checking a block"),
        "draft": tr("Drafting a block"),
    }


def _limit_names() -> dict[str, str]:
    return {"memory": tr("of what memory allows"), "compute": tr("of what arithmetic allows")}


class ThisMacDialog(QDialog):
    """Measures when it is opened for the first time; closing it ends a measurement."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._measuring = conductor.measuring
        self.setWindowTitle(machine_title())
        self.setAccessibleName(machine_title())
        self.resize(QSize(640, 680))

        self.chip = _label(theme, "", 1.3)
        self.about = _label(theme, "")
        set_look(self.about, "secondary")
        self.memory = _Figure(theme, tr("Memory"), tr("read by a product of one row over half a gigabyte of weights"))
        self.arithmetic = _Figure(theme, tr("Arithmetic"), tr("in large products"))
        figures = QHBoxLayout()
        figures.setSpacing(12)
        figures.addWidget(self.memory, 1)
        figures.addWidget(self.arithmetic, 1)
        self.ceiling = _label(theme, "")
        self.chart = RooflineChart(theme)
        self.rows = QGridLayout()
        self.rows.setHorizontalSpacing(14)
        self.rows.setVerticalSpacing(8)
        self.rows.setColumnStretch(1, 1)
        self.phases: dict[str, _Row] = {
            name: _Row(theme, words, self.rows, at) for at, (name, words) in enumerate(_phase_names().items())
        }
        self.remark = _label(theme, "")
        self.remark.setFont(theme.small())
        set_look(self.remark, "secondary")
        self.error = NoticeView(theme, "", "error")

        self.state = Label()
        self.state.setFont(theme.small())
        set_look(self.state, "secondary")
        self.bar = QProgressBar()
        self.bar.setRange(0, 100)
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(6)
        self.bar.setAccessibleName(tr("Progress of the measurement"))
        self.again = button(tr("Measure Again"), tr("Measure again"), "bordered")
        self.again.clicked.connect(self._measure_again)
        close = button(tr("Close"), tr("Close"), "bordered")
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.setSpacing(12)
        foot.addWidget(self.state)
        foot.addWidget(self.bar, 1)
        foot.addStretch(0)
        foot.addWidget(self.again)
        foot.addWidget(close)
        rule = QFrame()
        set_look(rule, "hairline")

        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 20)
        layout.setSpacing(12)
        for part in (self.chip, self.about):
            layout.addWidget(part)
        layout.addLayout(figures)
        layout.addWidget(self.ceiling)
        layout.addLayout(self.rows)
        layout.addWidget(self.chart)
        layout.addWidget(self.remark)
        layout.addWidget(self.error)
        layout.addStretch(1)
        layout.addWidget(rule)
        layout.addLayout(foot)
        self._measuring.changed.connect(self.refresh)
        conductor.busy_changed.connect(self.refresh)
        conductor.pair_changed.connect(self.refresh)
        self.refresh()
        if self._measuring.found is None and self._can_measure:
            self._measuring.start()

    @property
    def _can_measure(self) -> bool:
        return self._conductor.pair is not None and not self._conductor.busy and not self._measuring.running

    @Slot()
    def refresh(self) -> None:
        """Show what is known by now."""
        found, progress = self._measuring.found, self._measuring.progress
        pair = self._conductor.pair
        self.chip.setText(found.facts.name if found else machine_title())
        self.about.setText(about(found.facts) if found else tr("Not measured yet."))
        self.memory.show_figure(f"{number(found.facts.bandwidth / 1e9, 1)} GB/s" if found else "–")
        self.arithmetic.show_figure(
            rate(found.facts.compute) if found else "–", tr("in large products, {dtype}", dtype=found.facts.dtype) if found else ""
        )
        self.ceiling.setText(ceiling(found, pair.name) if found and pair else "")
        self.ceiling.setVisible(bool(self.ceiling.text()))
        measured = {phase.name: phase for phase in found.phases} if found else {}
        for name, row in self.phases.items():
            row.show_phase(found, measured.get(name))  # type: ignore[call-overload]
        self.chart.show_roofline(found, _phase_names())
        self.remark.setText(remark(found) if found else "")
        self.remark.setVisible(bool(self.remark.text()))
        self.error.label.setText(self._measuring.error)
        self.error.setVisible(bool(self._measuring.error))
        self.bar.setVisible(progress is not None)
        self.bar.setValue(round(100 * progress.fraction) if progress else 0)
        self.state.setText(self._state())
        self.again.setEnabled(self._can_measure)

    def _state(self) -> str:
        if progress := self._measuring.progress:
            return f"{translated(progress.step)} …"
        if self._conductor.pair is None:
            return tr("No models are loaded yet; then there is something to measure.")
        if self._conductor.busy:
            return tr("A reply is being written. Measure when it is done.")
        if self._measuring.stopped:
            return tr("Stopped before the end.")
        return tr("Measured {measured}", measured=self._measuring.found.facts.measured) if self._measuring.found else ""

    @Slot()
    def _measure_again(self) -> None:
        self._measuring.start(again=True)

    def done(self, result: int) -> None:
        self._measuring.stop()
        super().done(result)


def about(facts: MachineFacts) -> str:
    """Such as “Metal · 14 cores · 48 GiB of memory, 36 GiB of it for models”."""
    memory, models = facts.memory_bytes / 2**30, facts.working_set_bytes / 2**30
    of_models = tr("{memory} GiB of memory, {models} GiB of it for models", memory=f"{memory:,.0f}", models=f"{models:,.0f}")
    parts = [facts.device, tr("{count} cores", count=facts.cores), of_models, f"MLX {facts.mlx}"]
    if facts.device != "Metal":
        parts.append("OpenBLAS" if facts.blas == "openblas" else tr("the reference BLAS, which is slow"))
    return " · ".join(parts)


def rate(compute: float) -> str:
    """Operations a second, in words."""
    return f"{number(compute / 1e12, 1)} TFLOP/s" if compute >= 1e12 else f"{number(compute / 1e9)} GFLOP/s"


def duration(seconds: float) -> str:
    """Three digits are enough."""
    if seconds >= 1:
        return f"{number(seconds, 2)} s"
    return f"{number(1e3 * seconds, 0 if seconds >= 0.1 else 1)} ms"


def ceiling(found: Roofline, pair: str) -> str:
    """What plain decoding could reach here at best; empty where no plain step was measured."""
    plain = next((phase for phase in found.phases if phase.name == "plain"), None)
    if plain is None or found.plain_ceiling is None:
        return ""
    return tr(
        "{pair}: every token of plain decoding reads {bytes} MB, so that memory allows {plain_ceiling} tokens a "
        "second. DFlash reads as much for a whole block of tokens.",
        pair=pair,
        bytes=f"{plain.bytes / 1e6:,.0f}",
        plain_ceiling=f"{found.plain_ceiling:,.0f}",
    )


def remark(found: Roofline) -> str:
    """What a share above 100 % means; empty where there is none."""
    if any(found.reached(phase) > 1 for phase in found.phases):
        return tr("More than 100 %: these weights fit into the processor's own cache, which is quicker than memory.")
    return ""


def _label(theme: Theme, text: str, factor: float = 0.0) -> QLabel:
    label = Label(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if factor:
        label.setFont(theme.large(factor))
    return label


class _Figure(QFrame):
    """One figure with its name above and what it means below."""

    def __init__(self, theme: Theme, name: str, meaning: str) -> None:
        super().__init__()
        set_look(self, "notice")
        self._name = name
        title = Label(name)
        title.setFont(theme.small())
        set_look(title, "secondary")
        self.figure = Label()
        self.figure.setFont(theme.large(1.5))
        self.meaning = Label(meaning)
        self.meaning.setFont(theme.small())
        self.meaning.setWordWrap(True)
        set_look(self.meaning, "faint")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 12)
        layout.setSpacing(2)
        for part in (title, self.figure, self.meaning):
            layout.addWidget(part)
        layout.addStretch(1)

    def show_figure(self, figure: str, meaning: str = "") -> None:
        self.figure.setText(figure)
        self.figure.setAccessibleName(f"{self._name}: {figure}")
        if meaning:
            self.meaning.setText(meaning)


class _Row:
    """One kind of pass: its name, a bar as long as the share that is reached, and its times."""

    def __init__(self, theme: Theme, name: str, grid: QGridLayout, at: int) -> None:
        self.name = Label(name)
        self.bar = _Bar(theme, name)
        self.words = Label()
        self.words.setFont(theme.small())
        set_look(self.words, "secondary")
        for column, part in enumerate((self.name, self.bar, self.words)):
            grid.addWidget(part, at, column)

    def show_phase(self, found: Roofline | None, phase: Phase | None) -> None:
        if found is None or phase is None:
            self.bar.show_share(None)
            self.words.setText("–")
            return
        share = f"{found.reached(phase):.0%}".replace("%", " %")
        self.bar.show_share(found.reached(phase))
        tokens = tr("1 token") if phase.rows == 1 else tr("{count} tokens", count=phase.rows)
        self.words.setText(
            tr(
                "{share} {bound} · {tokens} in {seconds}",
                share=share,
                bound=_limit_names()[found.bound(phase)],
                tokens=tokens,
                seconds=duration(phase.seconds),
            )
        )


class _Bar(QWidget):
    """A share from 0 to 1; more fills it as well."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.share: float | None = None
        self.setFixedHeight(8)
        self.setMinimumWidth(80)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        theme.changed.connect(self.update)

    def show_share(self, share: float | None) -> None:
        self.share = share
        self.setAccessibleDescription(tr("not measured") if share is None else f"{share:.0%}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.bubble))
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        if self.share:
            painter.setBrush(QColor(colors.accent))
            painter.drawRoundedRect(QRectF(0, 0, max(8.0, self.width() * min(self.share, 1.0)), self.height()), 4, 4)
        painter.end()
