"""The Benchmark window: the loaded pair on a set of prompts, and the picture."""

import json

from PySide6.QtCore import QByteArray, QRectF, QSize, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QSizePolicy, QWidget

from app.session.activity import SessionActivity
from app.session.benchmark_run import BenchmarkRunner
from app.session.downloads import duration
from app.session.pair_session import PairLoader
from app.storage.wording import percent, without_dflash
from app.text.language import number, tr, translated
from app.widgets.controls import ThinBar, as_tooltip, button, small_label, styled_label
from app.widgets.layout import Form, NoticeView, column, flow, lay_out
from app.widgets.save_dialog import ask_save_path, file_name
from app.widgets.theme import Theme
from mlx_engine.cli import bench_picture
from mlx_engine.contract.files import cannot_write, replace_file
from mlx_engine.prompt_sets.published_sets import PROMPT_LIMIT, PUBLISHED_SETS

COUNTS = (8, 24, PROMPT_LIMIT)  # prompts
TEMPERATURES = (0.0, 1.0)  # of the papers


class BenchmarkDialog(QDialog):
    """A modeless window. Closing it stops the benchmark."""

    def __init__(
        self, theme: Theme, runner: BenchmarkRunner, activity: SessionActivity, loader: PairLoader, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._runner, self._activity, self._loader = runner, activity, loader
        self.setWindowTitle(tr("Benchmark"))
        self.resize(QSize(theme.scaled(640), theme.scaled(520)))
        self.title = styled_label(theme, size=1.3, bold=True, wrap=True)
        text = tr(
            "Answers prompts with and without the drafter, one after the other. Published sets are downloaded from the model hub."
        )
        about = styled_label(theme, text, "secondary", wrap=True)
        self.prompts, self.count, self.temperature = QComboBox(), QComboBox(), QComboBox()
        self.thinking = QCheckBox(tr("Let the model think before it answers"))
        self.prompts.addItem(tr("Built-in prompts"), "")
        for name, chosen in PUBLISHED_SETS.items():
            self.prompts.addItem(f"{name} · {chosen.license}", name)
        for count in COUNTS:
            self.count.addItem(str(count), count)
        self.all_drafters = QCheckBox(tr("All drafters"))
        self.all_drafters.setToolTip(as_tooltip(tr("Compares every drafter of this model that is on this computer")))
        self.remove = button(tr("Remove Download"), tr("Delete these prompts from disk"), "bordered", self._remove)
        for temperature in TEMPERATURES:
            self.temperature.addItem(number(temperature), temperature)
        form = Form(theme)
        form.add_row(tr("Prompts"), self.prompts, self.remove)
        form.add_row(tr("Number"), self.count)
        form.add_row(tr("Temperature"), self.temperature)
        form.add_row("", self.thinking)
        form.add_row("", self.all_drafters)
        self.error = NoticeView("", "error")
        self.state = styled_label(theme, wrap=True)
        self.bar = ThinBar(theme, tr("Benchmark progress"))
        self.picture = BenchmarkPicture()
        self.paper = small_label(theme, tr("Paper: what the DFlash paper reports for this model."), "secondary", wrap=True)
        self.start = button(tr("Start"), look="primary", clicked=self._start)
        self.pause = button(tr("Pause"), tr("Pause the benchmark"), "bordered", self._pause)
        self.stop = button(tr("Stop"), tr("Stop the benchmark"), "bordered", runner.stop)
        self.save_picture = button(tr("Save Picture…"), look="bordered", clicked=self._save_picture)
        self.save_report = button(tr("Save Report…"), look="bordered", clicked=self._save_report)
        close = button(tr("Close"), look="bordered", clicked=self.accept)
        page = column(
            self.title,
            about,
            form,
            self.error,
            self.state,
            self.bar,
            self.picture,
            self.paper,
            None,
            spacing=12,
            margins=(24, 20, 24, 12),
        )
        lay_out(self, page, (flow(self.start, self.pause, self.stop, self.save_picture, self.save_report), 1), close)
        self.prompts.currentIndexChanged.connect(self.refresh)
        for signal in (runner.changed, activity.changed, loader.changed, loader.loaded, loader.drafters_found):
            signal.connect(self.refresh)
        loader.loaded.connect(self._find_drafters)
        self._find_drafters()
        self.refresh()

    @Slot()
    def _find_drafters(self) -> None:
        self._loader.find_drafters()

    @Slot()
    def refresh(self) -> None:
        runner, pair, lines = self._runner, self._loader.pair, self._runner.lines
        self.title.setText(pair.name if pair else "")
        self.title.setVisible(pair is not None)
        for field in (self.prompts, self.count, self.temperature):
            field.setEnabled(not runner.running)
        self.thinking.setEnabled(not runner.running and self._loader.can_think)
        self.all_drafters.setEnabled(not runner.running)
        self.all_drafters.setVisible(len(self._loader.drafters) > 1 or (runner.running and self.all_drafters.isChecked()))
        self.remove.setVisible(not runner.running and runner.is_downloaded(self.prompts.currentData()))
        self.error.show_text(runner.error)
        self.error.setVisible(bool(runner.error))
        self.state.setText(self._state())
        self.state.setVisible(bool(self.state.text()))
        self.bar.setVisible(runner.running)
        self.bar.show_fraction(runner.done / runner.total if runner.total else runner.downloaded)
        self.picture.show_svg(bench_picture.draw(lines) if lines else "")
        self.paper.setVisible(any(line.paper is not None for line in lines))
        self.start.setVisible(not runner.running)
        self.start.setEnabled(runner.can_start)
        self.pause.setVisible(runner.running and runner.total > 0)
        self.pause.setText(tr("Continue") if runner.paused else tr("Pause"))
        self.stop.setVisible(runner.running)
        for save in (self.save_picture, self.save_report):
            save.setVisible(bool(lines) and not runner.running)

    def _state(self) -> str:
        runner, pair = self._runner, self._loader.pair
        if pair is None:
            return tr("Load a model to measure it.")
        if self._loader.sent_to:
            return tr("A server is in use. To measure this computer, load a model.")
        if pair.why_plain is not None:
            return without_dflash(pair.why_plain)
        if not runner.running:
            return ""
        if not runner.total:
            return tr("Downloading the prompts: {share}", share=percent(runner.downloaded)) if runner.downloaded else tr("Starting")
        replies = tr("{done} of {total} replies", done=runner.done, total=runner.total)
        if runner.paused:
            return f"{replies} · {tr('paused')}"
        if runner.waiting:
            return f"{replies} · {self._activity.why_busy or tr('Waiting for the engine')}"
        left = runner.seconds_left
        return f"{replies} · {tr('{time} left', time=duration(left))}" if left is not None else replies

    @Slot()
    def _start(self) -> None:
        thinking = self.thinking.isEnabled() and self.thinking.isChecked()
        drafters = self._loader.drafters if self.all_drafters.isChecked() else ()
        self._runner.start(self.prompts.currentData(), self.count.currentData(), self.temperature.currentData(), thinking, drafters)

    @Slot()
    def _remove(self) -> None:
        self._runner.remove_download(self.prompts.currentData())

    @Slot()
    def _pause(self) -> None:
        if self._runner.paused:
            self._runner.resume()
        else:
            self._runner.pause()

    @Slot()
    def _save_picture(self) -> None:
        if lines := self._runner.lines:
            self._save(tr("Save Picture"), ".svg", tr("SVG picture (*.svg)"), bench_picture.draw(lines))

    @Slot()
    def _save_report(self) -> None:
        if self._runner.reports:
            text = json.dumps(self._runner.saved, ensure_ascii=False, indent=1)
            self._save(tr("Save Report"), ".json", tr("Benchmark report (*.json)"), text)

    def _save(self, title: str, ending: str, kind: str, text: str) -> None:
        report = self._runner.reports[0]
        stem = file_name(f"{report['pair']['name']} {report['set']}", "benchmark")
        if (path := ask_save_path(self, title, stem, {ending: kind})) is None:
            return
        try:
            replace_file(path, text)
        except OSError as error:
            self.error.show_text(translated(cannot_write(path, error).text))
            self.error.setVisible(True)

    def done(self, result: int) -> None:
        self._runner.stop()
        super().done(result)


class BenchmarkPicture(QWidget):
    """A picture that is as wide as the window."""

    def __init__(self) -> None:
        super().__init__()
        self._svg, self._renderer = "", QSvgRenderer(self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(tr("Picture of the benchmark"))

    def show_svg(self, svg: str) -> None:
        """Show a picture, or nothing for an empty text."""
        self.setVisible(bool(svg))
        if svg and svg != self._svg:
            self._renderer.load(QByteArray(svg.encode()))
            self.updateGeometry()
            self.update()
        self._svg = svg

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        size = self._renderer.defaultSize()
        return width * size.height() // max(size.width(), 1)

    def sizeHint(self) -> QSize:
        return QSize(480, self.heightForWidth(480))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._renderer.render(painter, QRectF(0, 0, self.width(), self.heightForWidth(self.width())))
        painter.end()
