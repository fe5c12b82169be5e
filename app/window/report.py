"""A problem report, which is shown to the user but never sent."""

from pathlib import Path

from PySide6.QtCore import QProcess, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from app.storage.wording import disk_fault
from app.system import child, crash_log
from app.text.language import tr
from app.widgets.controls import button, copy_button, small_label
from app.widgets.layout import column, row
from app.widgets.save_dialog import ask_save_path
from app.widgets.theme import Theme, set_look

LINES = 18  # visible without scrolling


class ReportDialog(QDialog):
    """The Report a Problem window, which collects the report when opened."""

    def __init__(self, theme: Theme, version: str, log_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._version, self._log_folder, self._checks = version, log_folder, ""
        self.setWindowTitle(tr("Report a Problem"))
        note = tr("This report isn't sent automatically. Review it, then attach it to your bug report.")
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(theme.code_font)
        self.text.setAccessibleName(tr("Report"))
        set_look(self.text, "field")
        self.text.document().setDocumentMargin(10)
        metrics = QFontMetrics(theme.code_font)
        self.resize(metrics.averageCharWidth() * 90, metrics.lineSpacing() * LINES + 160)
        self.text.setMinimumSize(metrics.averageCharWidth() * 40, metrics.lineSpacing() * 10)
        self.status = small_label(theme, tr("Checking…"), "secondary")
        self.copy = copy_button(tr("Copy the report"), self.text.toPlainText, "bordered")
        self.save = button(tr("Save…"), tr("Save the report"), "bordered", self._save)
        close = button(tr("Close"), look="bordered", clicked=self.accept)
        close.setDefault(True)
        introduction = small_label(theme, note, "secondary", wrap=True)
        footer = row(self.status, None, self.copy, self.save, close)
        column(introduction, (self.text, 1), footer, spacing=12, margins=(24, 20, 24, 16), parent=self)
        self._process = QProcess(self)
        self._process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        self._process.readyRead.connect(self._read)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._finish)
        program, arguments = child.command("mlx_engine.__main__")
        self._process.start(program, [*arguments, "doctor"])
        self._show_report()
        close.setFocus()

    @Slot()
    def _read(self) -> None:
        self._checks += self._process.readAll().toStdString()
        self._show_report()

    @Slot()
    def _finish(self) -> None:
        if self._process.error() != QProcess.ProcessError.UnknownError:
            self._checks += f"The checks failed: {self._process.errorString()}\n"
        self.status.hide()
        self._show_report()

    def _show_report(self) -> None:
        self.text.setPlainText(report(self._version, self._checks, crash_log.last_crash(Path(self._log_folder))))

    @Slot()
    def _save(self) -> None:
        if file := ask_save_path(self, tr("Save Report"), "Slipstream report", {".txt": tr("Text (*.txt)")}):
            try:
                file.write_text(self.text.toPlainText() + "\n", encoding="utf-8")
            except OSError as error:
                self.status.setText(tr("Can't save the report: {reason}. Choose another location.", reason=disk_fault(error)))
                self.status.show()

    def done(self, result: int) -> None:
        self._process.blockSignals(True)
        self._process.kill()
        self._process.waitForFinished(1000)
        super().done(result)


def report(version: str, checks: str, crash: str) -> str:
    """Return the report's text, with "~" for the user's home folder."""
    parts = (f"Slipstream {version or 'development build'}", checks.strip(), f"Last crash: {crash.strip()}" if crash else "")
    return "\n\n".join(filter(None, parts)).replace(str(Path.home()), "~")
