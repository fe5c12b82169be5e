"""The This Mac window: the machine's limits and the loaded pair's share of them."""

import sys
from collections.abc import Sequence
from math import floor, log10

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPainterPathStroker, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QDialog, QFrame, QGridLayout, QSizePolicy, QWidget

from app.session.activity import SessionActivity
from app.session.measurements import RooflineRunner
from app.session.memory_reader import MemoryReader
from app.session.pair_session import PairLoader
from app.storage.wording import percent, size
from app.text.language import figures, number, tr, translated
from app.views.machine.memory_bar import MemoryBar
from app.widgets.controls import Label, ThinBar, button, small_label, styled_label
from app.widgets.layout import NoticeView, column, lay_out, row
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.contract.machine_events import KernelsSelected, MachineFacts, Phase, Roofline
from mlx_engine.hardware.machine import installed_gb

CHART_HEIGHT = 220  # at the default text size, like the margins below
LEFT, RIGHT, TOP, BOTTOM = 90, 16, 14, 40
DOT_RADIUS = 5  # pixels of the dots


def machine_title() -> str:
    return tr("This Mac") if sys.platform == "darwin" else tr("This Computer")


def _phase_names() -> dict[str, str]:
    return {
        "prefill": tr("Prompt processing"),
        "plain": tr("Plain step"),
        "verify": tr("Block verification"),
        "draft": tr("Block drafting"),
    }


class ThisMacDialog(QDialog):
    """A window that measures when first opened. Closing it stops the measurement."""

    benchmark_requested = Signal()

    def __init__(
        self,
        theme: Theme,
        runner: RooflineRunner,
        reader: MemoryReader,
        activity: SessionActivity,
        loader: PairLoader,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._reader = reader
        self._runner, self._activity, self._loader = runner, activity, loader
        self.setWindowTitle(machine_title())
        self.resize(QSize(640, 680))

        self.chip = styled_label(theme, size=1.3, bold=True, wrap=True, selectable=True)
        self.about = styled_label(theme, look="secondary", wrap=True, selectable=True)
        self.ceiling = styled_label(theme, wrap=True, selectable=True)
        self.memory_bar = MemoryBar(theme)
        self.memory = _Figure(theme, tr("Memory bandwidth"))
        self.compute = _Figure(theme, tr("Compute"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 2)
        grid.setColumnStretch(2, 5)
        self.phases = {name: _PhaseRow(theme, text, grid) for name, text in _phase_names().items()}
        self.chart = RooflineChart(theme)
        self.remark = small_label(theme, look="secondary", wrap=True, selectable=True)
        self.kernels = small_label(theme, look="secondary", wrap=True, selectable=True)
        self.error = NoticeView("", "error")
        self.state = small_label(theme, look="secondary", elided=True)
        self.bar = ThinBar(theme, tr("Measurement progress"))
        self.again = button(tr("Measure Again"), look="bordered", clicked=self._measure_again)
        self.test_kernels = button(tr("Test Kernels"), look="bordered", clicked=self._runner.test_kernels)
        benchmark = button(tr("Benchmark…"), look="bordered", clicked=self.benchmark_requested.emit)
        close = button(tr("Close"), look="bordered", clicked=self.accept)
        page = column(
            self.chip,
            self.about,
            self.memory_bar,
            row((self.memory, 1), (self.compute, 1), spacing=12),
            self.ceiling,
            grid,
            self.chart,
            self.remark,
            self.kernels,
            row(benchmark, None),
            self.error,
            None,
            spacing=12,
            margins=(24, 20, 24, 12),
        )
        lay_out(self, page, (self.state, 1), (self.bar, 1), self.test_kernels, self.again, close, spacing=12)
        self._runner.changed.connect(self.refresh)
        loader.calibration.changed.connect(self.refresh)
        activity.changed.connect(self.refresh)
        loader.loaded.connect(self.refresh)
        reader.changed.connect(self._show_memory)
        reader.set_needed(True)
        self._show_memory()
        self.refresh()
        if self._runner.found is None and self._can_measure:
            self._runner.start()

    @property
    def _can_measure(self) -> bool:
        is_here = self._loader.pair is not None and not self._loader.sent_to
        return is_here and not self._activity.busy and not self._runner.running

    @Slot()
    def refresh(self) -> None:
        found, pair = self._runner.found, self._loader.pair
        progress = self._runner.progress or self._loader.calibration.progress
        facts = found.facts if found else None
        self.chip.setText(facts.name if facts else machine_title())
        self.about.setText(about(facts) if facts else tr("Not measured yet."))
        self.memory.show_figure(
            f"{number(facts.bandwidth / 1e9, 1)} GB/s" if facts else "–", tr("Matrix-vector products with 0.5 GB of weights")
        )
        self.compute.show_figure(
            rate(facts.compute) if facts else "–",
            tr("Large matrix products, {dtype}", dtype=facts.dtype) if facts else tr("Large matrix products"),
        )
        self.ceiling.setText(ceiling(found, pair.name) if found and pair else "")
        self.ceiling.setVisible(bool(self.ceiling.text()))
        measured = {phase.name: phase for phase in found.phases} if found else {}
        for name, phase_row in self.phases.items():
            phase_row.show_phase(found, measured.get(name))  # type: ignore[call-overload]
        self.chart.show_roofline(found)
        self.remark.setText(remark(found) if found else "")
        self.remark.setVisible(bool(self.remark.text()))
        selected = self._loader.calibration.kernels if pair else None
        self.kernels.setText(kernel_evidence(selected) if selected else "")
        self.kernels.setVisible(selected is not None)
        self.error.show_text(self._runner.error, self._runner.error_page)
        self.error.setVisible(bool(self._runner.error))
        self.bar.setVisible(progress is not None)
        self.bar.show_fraction(progress.fraction if progress else None)
        self.state.setText(self._state())
        self.again.setEnabled(self._can_measure)
        self.test_kernels.setVisible(selected is not None or (facts is not None and facts.device == "Metal"))
        self.test_kernels.setEnabled(self._can_measure)

    def _state(self) -> str:
        if self._runner.progress is not None:
            return f"{translated(self._runner.progress.step)}…"
        if self._loader.pair is None:
            return tr("Load a model to measure it.")
        if self._loader.sent_to:
            return tr("A server is in use. To measure this computer, load a model.")
        if why := self._activity.why_busy:
            return why
        if self._runner.stopped:
            return tr("Measurement stopped.")
        if background := self._background():
            return background
        return tr("Measured {date}", date=self._runner.found.facts.measured) if self._runner.found else ""

    def _background(self) -> str:
        """Return what is measured while the app is idle, or why it waits, or ""."""
        calibration = self._loader.calibration
        match calibration.waits_for:
            case "quiet_mode":
                return tr("Measuring continues when quiet mode is off.")
            case "power":
                return tr("Kernels will be tested when this Mac is connected to power.")
            case "low_power_mode":
                return tr("Kernels will be tested when Low Power Mode is off.")
            case "cooling":
                return tr("Kernels will be tested when this Mac has cooled down.")
        if calibration.progress is None:
            return ""
        if calibration.running:
            return f"{translated(calibration.progress.step)}…"
        return tr("Measuring continues when Slipstream is idle.")

    @Slot()
    def _show_memory(self) -> None:
        self.memory_bar.show_use(self._reader.found)

    @Slot()
    def _measure_again(self) -> None:
        self._runner.start(again=True)

    def done(self, result: int) -> None:
        self._runner.stop()
        self._reader.set_needed(False)
        super().done(result)


def about(facts: MachineFacts) -> str:
    """Describe the machine: "Metal · 14 cores · 48 GB of memory, 38.7 GB for models"."""
    memory, models = f"{number(installed_gb(facts.memory_bytes))} GB", size(facts.working_set_bytes)
    sizes = tr("{memory} of memory, {models} for models", memory=memory, models=models)
    parts = [facts.device, tr("{count} cores", count=facts.cores), sizes, f"MLX {facts.mlx}"]
    if facts.device != "Metal":
        parts.append("OpenBLAS" if facts.blas == "openblas" else tr("reference BLAS (slow)"))
    return " · ".join(parts)


def rate(operations_s: float) -> str:
    if operations_s >= 1e12:
        return f"{number(operations_s / 1e12, 1)} TFLOP/s"
    return f"{number(operations_s / 1e9)} GFLOP/s" if operations_s >= 1e9 else f"{number(operations_s / 1e6)} MFLOP/s"


def duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{number(seconds, 2)} s"
    return f"{number(1e3 * seconds, 0 if seconds >= 0.1 else 1)} ms"


def ceiling(found: Roofline, pair: str) -> str:
    """Describe the limit of plain decoding; empty if it wasn't measured."""
    plain = next((phase for phase in found.phases if phase.name == "plain"), None)
    if plain is None or found.plain_ceiling is None:
        return ""
    if found.reached(plain) > 1:
        return tr(
            "{pair}: plain decoding reads {size} MB per token. That fits in the processor cache, so memory doesn't limit it.",
            pair=pair,
            size=number(plain.bytes / 1e6),
        )
    return tr(
        "{pair}: plain decoding reads {size} MB per token, so memory limits it to {rate} tokens per second. DFlash reads "
        "the same amount for a whole block of tokens.",
        pair=pair,
        size=number(plain.bytes / 1e6),
        rate=number(found.plain_ceiling),
    )


def remark(found: Roofline) -> str:
    """Explain shares above 100%, if any."""
    if any(found.reached(phase) > 1 for phase in found.phases):
        return tr("Above 100%: these weights fit in the processor cache, which is faster than memory.")
    return ""


def kernel_evidence(found: KernelsSelected) -> str:
    """Describe each Metal kernel in one line: its state and the reason."""
    lines = [tr("Metal kernels")]
    for trial in found.trials:
        state = tr("on") if trial.used_at else tr("off")
        lines.append(f"{trial.kernel}: {state} · {translated(trial.why)}")
    if found.switch:
        lines.append(tr("Long-context kernels are used at {count} tokens and above.", count=number(found.switch)))
    return "\n".join(lines)


class _Figure(QFrame):
    """A value with its name above and the method of measurement below."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        set_look(self, "notice")
        self._name = name
        self.figure = styled_label(theme, size=1.5, bold=True)
        self._method = small_label(theme, look="faint", wrap=True)
        title = small_label(theme, name, "secondary")
        column(title, self.figure, self._method, None, spacing=2, margins=(14, 10, 14, 12), parent=self)

    def show_figure(self, figure: str, method: str) -> None:
        self.figure.setText(figure)
        self.figure.setAccessibleName(f"{self._name}: {figure}")
        self._method.setText(method)


class _PhaseRow:
    """A grid row with a phase's name, its share of the limit as a bar, and its time."""

    def __init__(self, theme: Theme, name: str, grid: QGridLayout) -> None:
        self.bar = ThinBar(theme, name)
        self.text = small_label(theme, look="secondary", wrap=True)
        index = grid.rowCount()
        for position, widget in enumerate((Label(name), self.bar, self.text)):
            grid.addWidget(widget, index, position)

    def show_phase(self, found: Roofline | None, phase: Phase | None) -> None:
        if found is None or phase is None:
            self.bar.show_fraction(None)
            self.text.setText("–")
            return
        reached = found.reached(phase)
        self.bar.show_fraction(reached)
        share = percent(reached)
        limit = (
            tr("{share} of the memory limit", share=share)
            if found.bound(phase) == "memory"
            else tr("{share} of the compute limit", share=share)
        )
        tokens = tr("1 token") if phase.rows == 1 else tr("{count} tokens", count=phase.rows)
        self.text.setText(f"{limit} · {tr('{tokens} in {time}', tokens=tokens, time=duration(phase.seconds))}")


class RooflineChart(QWidget):
    """A roofline chart: operations per second against operations per byte.

    Each dot is a measured pass. The dotted line above a dot ends at the limit.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._found: Roofline | None = None
        self._names = _phase_names()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Roofline of this computer"))
        theme.set_font(self, SMALL)
        theme.changed.connect(self.update)
        theme.text_resized.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.scaled(240), self._theme.scaled(CHART_HEIGHT))

    @property
    def _plot(self) -> QRectF:
        left, right, top, bottom = map(self._theme.scaled, (LEFT, RIGHT, TOP, BOTTOM))
        return QRectF(left, top, self.width() - left - right, self.height() - top - bottom)

    def show_roofline(self, found: Roofline | None) -> None:
        self._found = found
        if found is not None:
            shares = [
                tr("{phase}: {share} of the limit", phase=self._names[phase.name], share=percent(found.reached(phase)))
                for phase in found.phases
            ]
            self.setAccessibleDescription(", ".join(shares))
        self.setVisible(found is not None and bool(found.phases))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._found is None or not self._found.phases:
            return
        colors, found = self._theme.colors, self._found
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = _Scale(found, self._plot)
        self._draw_grid(painter, scale)
        ridge = min(max(found.facts.compute / found.facts.bandwidth, scale.min_intensity), scale.max_intensity)
        roof = [
            scale.point(intensity, min(found.facts.compute, intensity * found.facts.bandwidth))
            for intensity in (scale.min_intensity, ridge, scale.max_intensity)
        ]
        painter.setPen(QPen(QColor(colors.secondary), 2))
        painter.drawPolyline(QPolygonF(roof))
        line = QPainterPath(roof[0])
        for corner in roof[1:]:
            line.lineTo(corner)
        stroke = QPainterPathStroker(QPen(Qt.GlobalColor.black, 2)).createStroke(line)
        dots = [scale.point(phase.operations / phase.bytes, phase.operations / phase.seconds) for phase in found.phases]
        taken = [QRectF(dot - QPointF(DOT_RADIUS, DOT_RADIUS), QSizeF(2 * DOT_RADIUS, 2 * DOT_RADIUS)) for dot in dots]
        for phase, at in zip(found.phases, dots, strict=True):
            intensity = phase.operations / phase.bytes
            painter.setPen(QPen(QColor(colors.accent), 1, Qt.PenStyle.DotLine))
            painter.drawLine(at, scale.point(intensity, phase.operations / found.floor_s(phase)))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.accent))
            painter.drawEllipse(at, DOT_RADIUS, DOT_RADIUS)
        painter.setPen(QColor(colors.text))
        metrics = painter.fontMetrics()
        for phase, at in reversed(list(zip(found.phases, dots, strict=True))):  # prompt processing has most free space
            name = self._names[phase.name]
            area = QSizeF(metrics.horizontalAdvance(name) + 2, metrics.height())
            taken.append(label_place(at, area, self._plot, taken, stroke))
            painter.drawText(taken[-1], Qt.AlignmentFlag.AlignVCenter, name)
        painter.end()

    def _draw_grid(self, painter: QPainter, scale: "_Scale") -> None:
        colors, area = self._theme.colors, scale.area
        metrics = painter.fontMetrics()
        for power in range(floor(log10(scale.min_rate)), floor(log10(scale.max_rate)) + 1):
            y = scale.point(scale.min_intensity, 10.0**power).y()
            if area.top() <= y <= area.bottom():
                painter.setPen(QPen(QColor(colors.line), 1))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
                painter.setPen(QColor(colors.faint))
                label = QRectF(0, y - metrics.height() / 2, area.left() - 8, metrics.height())
                painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, rate(10.0**power))
        painter.setPen(QColor(colors.faint))
        for power in range(floor(log10(scale.min_intensity)), floor(log10(scale.max_intensity)) + 1):
            x = scale.point(10.0**power, scale.min_rate).x()
            if area.left() <= x <= area.right():
                text = figures(10.0**power, 6)
                painter.drawText(QPointF(x - metrics.horizontalAdvance(text) / 2, area.bottom() + metrics.ascent() + 4), text)
        title = QRectF(area.left(), self.height() - metrics.height() - 2, area.width(), metrics.height())
        painter.drawText(title, Qt.AlignmentFlag.AlignRight, tr("Operations per byte read"))


def label_place(at: QPointF, extent: QSizeF, plot: QRectF, taken: Sequence[QRectF], roof: QPainterPath) -> QRectF:
    """Return the place of a dot's name: next to it, or a little lower or higher.

    Args:
        at: the dot.
        extent: of the name.
        plot: contains the name.
        taken: places of the dots and of other names.
        roof: the stroke of a line to avoid.
    """
    places = [
        QRectF(QPointF(left, at.y() + (rows - 0.5) * extent.height()), extent)
        for rows in (0, 1, -1, 2, -2)
        for left in (at.x() + 2 * DOT_RADIUS, at.x() - 2 * DOT_RADIUS - extent.width())
    ]
    inside = [place for place in places if plot.contains(place)] or places[:1]
    free = [place for place in inside if not any(place.intersects(other) for other in taken)]
    return next((place for place in free if not roof.intersects(place)), (free or inside)[0])


class _Scale:
    """A map from operations per byte and operations per second to pixels."""

    def __init__(self, found: Roofline, area: QRectF) -> None:
        self.area = area
        intensities = [phase.operations / phase.bytes for phase in found.phases]
        self.min_intensity = min(intensities) / 3
        self.max_intensity = max(*intensities, found.facts.compute / found.facts.bandwidth) * 3
        rates = [phase.operations / phase.seconds for phase in found.phases]
        self.min_rate = min(*rates, found.facts.compute, self.min_intensity * found.facts.bandwidth) / 1.5
        self.max_rate = max(*rates, found.facts.compute) * 2

    def point(self, intensity: float, rate: float) -> QPointF:
        x = log10(intensity / self.min_intensity) / log10(self.max_intensity / self.min_intensity)
        y = log10(rate / self.min_rate) / log10(self.max_rate / self.min_rate)
        return QPointF(self.area.left() + x * self.area.width(), self.area.bottom() - y * self.area.height())
