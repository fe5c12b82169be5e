"""Opens every screen and looks at every text on it: whether all of it fits, and whether it is in the language.

python -m tests.app.screens LANGUAGE [FOLDER]    with SLIPSTREAM_LANGUAGE set; pictures of the screens go into FOLDER
"""

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

from app.text import language
from app.views.models.endpoint_form import EndpointForm
from app.views.models.macs_dialog import MacsDialog
from app.views.models.picker_dialog import PickerDialog

HOME = tempfile.mkdtemp()
for name, value in {"HOME": HOME, "XDG_DATA_HOME": HOME, "XDG_CACHE_HOME": HOME, "HF_HUB_OFFLINE": "1"}.items():
    os.environ[name] = value  # before anything looks where models lie; the picker asks no hub
language.start(Path(os.devnull))

from PySide6.QtCore import QEventLoop, QPoint, QRect, Qt, QTimer  # noqa: E402
from PySide6.QtGui import QAction, QFontMetrics  # noqa: E402
from PySide6.QtWidgets import (  # noqa: E402
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QWidget,
)

from app.application import Slipstream  # noqa: E402
from app.session.model_list import Variant  # noqa: E402
from app.session.other_macs import OtherMac  # noqa: E402
from app.session.picker import Picker  # noqa: E402
from app.session.tuning_survey import TuningPair, TuningSurvey  # noqa: E402
from app.system.data_paths import DataPaths  # noqa: E402
from app.views.pictures.pdf_dialog import PdfDialog  # noqa: E402
from app.views.pictures.picture_row import PictureRow  # noqa: E402
from app.views.pictures.viewer import PictureViewer  # noqa: E402
from app.views.settings.settings_dialog import SettingsDialog, pane_names  # noqa: E402
from app.views.transcript.call_card import CallCard  # noqa: E402
from app.views.transcript.cut_view import CutView  # noqa: E402
from app.views.transcript.unreadable_call import UnreadableCall  # noqa: E402
from app.views.tuning.tune_dialog import TuneDialog  # noqa: E402
from app.widgets.controls import ElidedButton, ElidedLabel  # noqa: E402
from app.widgets.toggle import Switch  # noqa: E402
from app.window import report  # noqa: E402
from app.window.main_window import MainWindow  # noqa: E402
from mlx_engine.api_server.metrics import LiveRequest  # noqa: E402
from mlx_engine.contract.errors import EngineText  # noqa: E402
from mlx_engine.contract.events import WorkProgress  # noqa: E402
from mlx_engine.contract.requests import Endpoint, ToolCall  # noqa: E402
from mlx_engine.mcp.record import CallRecord, CallState  # noqa: E402
from mlx_engine.models.files.tuning_files import LoraRecord  # noqa: E402
from mlx_engine.models.tuning_needs import TuningNeeds  # noqa: E402
from mlx_engine.remote.saved_endpoints import SavedEndpoint  # noqa: E402
from mlx_engine.remote.server import RemoteServer  # noqa: E402
from tests.app.pictures import document_data, landscape  # noqa: E402
from tests.app.scripted_engine import PAIR, ScriptedEngine, a_round, commit, done, refuse  # noqa: E402
from tests.mlx_engine.models.published_speeds import Point  # noqa: E402

ENGLISH = re.compile(
    r"\b(the|and|of|with|this|that|your|not|settings|copy|edit|show|compare|close|about|message|reply|read|from|next)\b", re.I
)
# Not the app's own: names, what the user or the model wrote, the sample questions, which the demo pair knows in English only, and
# what the engine says: how a line of the memory's sum came about, why a pair cannot be run.
FOREIGN = re.compile(
    r"(.*: ?|.*：)?(Demo pair|Slipstream|DFlash|Show me|print|python|note\.md|How many|Write a|Write the 7|List the first|What is"
    r"|Qwen3\.8.Flash-Next|.* can't run).*"
)


PIECES = (QAbstractButton, QLabel, QComboBox, QLineEdit, QPlainTextEdit, QSlider, QAbstractSpinBox, QListView)


def settle(milliseconds: int = 120) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def texts(screen: QWidget) -> Iterator[tuple[QWidget, str]]:
    """Every visible text on a screen that is shown in one place."""
    for widget in screen.findChildren(QWidget):
        if widget.isVisible() and widget.window() is screen.window():
            if isinstance(widget, QLabel | QPushButton | QCheckBox | Switch):
                yield widget, widget.text()
            elif isinstance(widget, QComboBox):
                yield widget, widget.currentText()


def clipped(screen: QWidget) -> list[str]:
    """Texts that need more room than they have, or stand outside their screen."""
    found = []
    for widget, text in texts(screen):
        if (
            not text
            or isinstance(widget, ElidedButton | ElidedLabel)
            or text.endswith("…")
            or (isinstance(widget, QLabel) and widget.textFormat() == Qt.TextFormat.RichText)
        ):
            continue
        metrics = QFontMetrics(widget.font())
        lines = text.replace("&&", "\0").replace("&", "").replace("\0", "&").split("\n")
        widest = max(metrics.horizontalAdvance(line) for line in lines)
        if isinstance(widget, QLabel) and widget.wordWrap():
            if widget.heightForWidth(widget.width()) > widget.height() + 1:
                found.append(f"too low: {text!r}")
        elif max(widest, 0 if isinstance(widget, QLabel | QComboBox) else widget.sizeHint().width()) > widget.width() + 1:
            found.append(f"too narrow by {widest - widget.width()}: {text!r} ({type(widget).__name__})")
        elif metrics.height() * len(lines) > widget.height() + 1:
            found.append(f"too low: {text!r} ({type(widget).__name__})")
    return found


def overlapping(screen: QWidget) -> list[str]:
    """Pairs of controls that are drawn on top of each other."""
    areas = []
    for widget in screen.findChildren(QWidget):
        floats = any(parent.property("look") in ("find", "float") for parent in (widget, widget.parentWidget()))
        if widget.isVisible() and widget.window() is screen.window() and isinstance(widget, PIECES) and not floats:
            if isinstance(widget.parentWidget(), QComboBox | QLineEdit | QAbstractSpinBox | QAbstractScrollArea):
                continue
            seen = widget.visibleRegion().boundingRect()  # the part that is not scrolled out of sight
            if not seen.isEmpty():
                areas.append((widget, QRect(widget.mapTo(screen.window(), seen.topLeft()), seen.size())))
    found = []
    for index, (widget, area) in enumerate(areas):
        for other, taken in areas[:index]:
            common = area.intersected(taken)
            if min(common.width(), common.height()) > 2 and not other.isAncestorOf(widget) and not widget.isAncestorOf(other):
                found.append(f"{_said(other)} and {_said(widget)} overlap by {common.width()} x {common.height()}")
    return found


def outside(screen: QWidget) -> list[str]:
    """Controls that stick out of their window, or of a scrolled page on the left or right."""
    found = []
    for widget in screen.findChildren(QWidget):
        if widget.isVisible() and widget.window() is screen.window() and isinstance(widget, PIECES):
            frame = next((one.viewport() for one in parents(widget) if isinstance(one, QAbstractScrollArea)), screen.window())
            area = QRect(widget.mapTo(frame, QPoint()), widget.size())
            scrolled = frame is not screen.window()
            if area.left() < 0 or area.right() >= frame.width() or not (scrolled or frame.rect().contains(area)):
                found.append(f"{_said(widget)} is partly outside: {area.getRect()}")
    return found


def parents(widget: QWidget) -> Iterator[QWidget]:
    while (parent := widget.parentWidget()) is not None and not widget.isWindow():
        yield parent
        widget = parent


def _said(widget: QWidget) -> str:
    text = getattr(widget, "text", str)() or widget.accessibleName()
    return f"{type(widget).__name__} {text[:40]!r}"


def untranslated(screen: QWidget) -> list[str]:
    """Texts with words that only English has."""
    said = [text for _, text in texts(screen)]
    said += [action.text() for action in screen.findChildren(QAction)]
    for widget in screen.findChildren(QWidget):
        said += [widget.accessibleName(), widget.toolTip(), widget.windowTitle()]
    said = [re.sub(r"/\S+|\S+-Next\b", "", text) for text in said]  # paths, and names of models
    return sorted({text for text in said if text and ENGLISH.search(text.replace("&", "")) and not FOREIGN.match(text)})


def show_server_in_use(window: MainWindow) -> None:
    """Open the Local Server window, on and with four requests."""
    server = window.services.server
    server.on, server.key = True, "sk-slipstream-" + "x" * 32
    live = LiveRequest(1, "/v1/messages", "claude-cli", "reading", 0, 18_300, 4_096, 9_000)
    writing = replace(live, state="writing", tokens=312, tok_s=45.1)
    server.activity = (live, writing, replace(writing, tokens=80, tok_s=38.0), LiveRequest(3, "/v1/chat/completions"))
    server.lines.append("14:02:31  POST /v1/chat/completions 200, 312 tokens, 7.10 s")
    server.error = language.tr("No models are loaded.")
    server.changed.emit()
    server.activity_changed.emit()
    window.dialogs.show_server()


def with_speeds(variant: Variant) -> Variant:
    """Return a pair with predicted speeds. One may be no gain."""
    point = Point("M4 Pro", "Qwen3.x 35B-A3B", 4, "DSpark", "chat", 1.05)
    speeds = point.speeds()
    return replace(variant, speeds=speeds | {"chat": replace(speeds["chat"], gain=(1.0, 1.62))})


def show_tuning(window: MainWindow) -> None:
    """Open the Tune Drafter window, with a paused run, an error, and the gains of an earlier run."""
    window.dialogs.show_tuning()
    runner = window.services.tuning
    runner.pair = TuningPair("Qwen3-Coder-30B-A3B-Instruct-MLX-4bit-DWQ", Path("target"), Path("drafter"))
    runner.surveyed = TuningSurvey(
        prompts=[()] * 148,
        chats=57,
        general=24,
        needs=TuningNeeds(31_400_000_000, 4_300_000_000),
        free_memory=12_500_000_000,
        free_disk=210_000_000_000,
        tuned=True,
        record=LoraRecord("", "", "2026-11-23", 3.21, 3.71, 4.02, 4.01),
        paused_at=0.31,
    )
    runner.error = runner.surveyed.short_of_memory
    runner.changed.emit()


def show_tuning_progress(window: MainWindow) -> None:
    """Show a run in that window."""
    runner = window.services.tuning
    values = {"number": 68, "total": 218}
    runner.progress = WorkProgress(0.31, EngineText.of("tuning_replies", "Generating reply {number} of {total}", **values))
    runner.starting, runner.remaining.seconds = True, 4300.0
    runner.changed.emit()


def show_calls(window: MainWindow) -> None:
    """Add calls in all states and one that can't be read to the last reply, and expand two."""
    turn = window.services.session.chat.turns[-1]
    call = ToolCall("", "calculator", '{"expression": "4817 × 392"}')
    known = {"server": "Calculator", "tool": "calculator", "result": "1888264", "seconds": 0.3}
    turn.reply.calls = tuple(
        CallRecord(replace(call, id=state), state=state, **(known if state != "failed" else {}))  # type: ignore[arg-type]
        for state in get_args(CallState)
    )
    turn.reply.progress = {"running": "1/2"}
    turn.reply.accept(replace(commit('<tool_call>{"name": "calculator"'), unreadable_call=True), 0.0)
    window.services.reply_runner.changed.emit(turn)
    settle(200)
    for card in window.transcript.findChildren(CallCard):
        if card.record.state == "done":
            card.header.click()
    window.transcript.findChild(UnreadableCall).open()


def show_summary(window: MainWindow) -> None:
    """Replace the first turn by a summary, and edit it."""
    session = window.services.session
    session.set_summary(session.chat.turns[0].last, "Was? 什么?")
    settle(200)
    transcript = window.transcript
    transcript.go_to_message([item.kind for item in transcript.column.items].index("cut"))
    settle(200)
    transcript.findChildren(CutView)[-1].edit_button.click()
    settle(200)


def show_result(form: EndpointForm, picker: Picker) -> None:
    """Show the result of a test of a server that can do little."""
    little = RemoteServer("other", "", ("a", "b"), "a", can_call_tools=False, can_think=False)
    picker.endpoints.test = lambda tested, then: then(little)  # type: ignore[method-assign]
    form.test.click()


def attach_pictures(window: MainWindow) -> None:
    """Attach an image, an animation, and a PDF to the message."""
    reader = window.services.attachments
    reader.attach_data(landscape(1600, 1000, "JPEG"), "Seen 湖.jpg")
    reader.attach_data(landscape(200, 600, "GIF"), "Turm 塔.gif")
    reader.attach_data(document_data(), "Bericht 报告.pdf")
    while reader.busy or len(reader.counts) < len(reader.files):
        settle(30)


def show_pictures(window: MainWindow) -> tuple[QDialog, QDialog]:
    """Return the viewer with the first picture of the chat, and the list of the PDF's pages in the message field."""
    picture, pages = window.transcript.findChild(PictureRow), window.composer.files.chips[2]
    pages.open_button.click()
    picture.open(0)
    return window.findChild(PictureViewer), window.findChild(PdfDialog)


def wait_for_pictures(window: MainWindow) -> None:
    settle()
    while window.theme.pictures.busy:
        settle(30)


def skip_report_checks() -> None:
    """They take seconds, in a process of their own."""
    report.child = SimpleNamespace(command=lambda module: ("echo", ["Checks"]))  # type: ignore[assignment]


def main(code: str, folder: Path | None) -> int:
    skip_report_checks()
    application = QApplication([])
    application.setQuitOnLastWindowClosed(False)
    language.translate_qt()
    home = Path(tempfile.mkdtemp())
    script = [commit("Gedanken 思考", 2, "thinking"), a_round(), commit("Text 文本\n\n```python\nprint(1)\n```", 9), done()]
    gate = threading.Event()
    scripts = [script, [refuse("Fehler 错误")], [commit("Text 文本"), gate, done()], [commit("Seite 2, 第 3 页"), done()]]
    pair = replace(PAIR, can_see=True)
    slipstream = Slipstream(application, DataPaths(home, home, home), lambda: ScriptedEngine(scripts, pair))
    window = slipstream.window
    slipstream.start()
    window.resize(900, 600)
    settle(400)
    while slipstream.services.loader.progress is not None:
        settle(30)
    bad: list[str] = []
    number = 0

    def look(name: str, screen: QWidget) -> None:
        nonlocal number
        number += 1
        for _ in range(150):  # layouts and counts may still be on their way
            settle(40)
            problems = clipped(screen) + ([f"not translated: {one!r}" for one in untranslated(screen)] if code != "en" else [])
            if not problems:
                break
        bad.extend(f"{name}: {one}" for one in problems)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            screen.grab().save(str(folder / f"{code}-{number:02}-{name}.png"))

    def ask(text: str) -> None:
        window.composer.field.setPlainText(text)
        window.composer.button.click()
        while slipstream.services.activity.busy or slipstream.services.message.note:  # it may wait until it is counted
            settle(30)
        settle(150)

    look("empty", window)
    ask("Show me")
    show_calls(window)
    note = home / "note.md"
    note.write_text("1")
    slipstream.services.attachments.attach([note])
    settle(300)
    window.transcript.find_bar.open_search()
    look("chat", window)
    ask("Show me an error")
    look("error", window)
    chat = slipstream.services.session.chat.id
    slipstream.services.session.new_chat()
    slipstream.services.session.send("Wie? 怎么?")
    settle(300)
    slipstream.services.session.open_chat(chat)
    settle(300)
    look("written-elsewhere", window)
    gate.set()
    while slipstream.services.activity.busy:
        settle(30)
    slipstream.services.session.new_chat()
    attach_pictures(window)
    window.composer.field.setPlainText("Was? 什么?")
    wait_for_pictures(window)
    look("attached", window)
    ask("Was? 什么?")
    attach_pictures(window)
    wait_for_pictures(window)
    look("images", window)
    for name, dialog in zip(("viewer", "pages"), show_pictures(window), strict=True):
        wait_for_pictures(window)
        look(name, dialog)
        dialog.close()
    slipstream.services.session.open_chat(chat)
    settle(300)
    slipstream.services.session.edit(slipstream.services.session.chat.turns[0])
    look("editing", window)
    slipstream.services.session.cancel_edit()
    show_summary(window)
    look("summary", window)
    slipstream.services.session.set_summary(slipstream.services.session.chat.turns[0].last, "")
    for pane in pane_names():
        window.dialogs.show_settings(pane)
        settle(200)
        look(f"settings-{pane}", window.dialogs.find(SettingsDialog))
    window.dialogs.show_help()
    window.dialogs.show_report()
    window.dialogs.show_chat_settings()
    project = slipstream.services.library.add_project("Projekt 项目")
    slipstream.services.projects.add_documents(project.id, ["/tmp/1"])
    window.dialogs.show_project_settings(project.id)
    window.dialogs.show_palette()
    show_server_in_use(window)
    window.dialogs.show_about()
    window.dialogs.show_this_mac()
    window.dialogs.show_benchmark()
    settle(200)
    for dialog in window.findChildren(QDialog):
        look(type(dialog).__name__, dialog)
        dialog.close()
    slipstream.services.comparer.compare()
    settle(400)
    for dialog in window.findChildren(QDialog):
        if dialog.isVisible():
            look(type(dialog).__name__, dialog)
            dialog.close()
    window.dialogs.show_tuning()
    tune = window.dialogs.find(TuneDialog)
    assert tune is not None
    look("tune-demo", tune)
    show_tuning(window)
    look("tune-paused", tune)
    show_tuning_progress(window)
    look("tune-running", tune)
    window.services.tuning.starting = False
    tune.close()
    window.dialogs.show_models()
    picker, models = window.services.picker, window.dialogs.find(PickerDialog)
    assert models is not None
    while not picker.rows.matching:
        settle(30)
    for name, pair in (("picker", "demo"), ("picker-other", picker.rows.matching[-1].id)):
        picker.rows.select(pair)
        settle(200)
        if (one := picker.rows.current) is not None and one.shown.pair is not None:
            picker.rows.update(one.shown.pair, with_speeds)
            settle(200)
        look(name, models)
    saved = SavedEndpoint("Server", Endpoint("http://192.168.1.20:8000", key="1", headers=(("Name", "1"),)))
    picker.put_endpoint(saved)
    settle(200)
    look("connection", models)
    models.endpoint.edit.click()
    form = models.findChild(EndpointForm)
    show_result(form, picker)
    settle(200)
    look("connection-form", form)
    form.close()
    settle(200)
    picker.macs.macs = (OtherMac("192.168.1.2:47820", used=False), OtherMac("mac-studio-2.office.local:47820", used=False))
    models.mac.trigger()
    macs = models.findChild(MacsDialog)
    macs.address.setText("192.168.1.2:0")
    macs.add.click()
    settle(200)
    look("macs", macs)
    macs.close()
    settle(200)
    models.custom.trigger()
    for dialog in models.findChildren(QDialog):
        look(type(dialog).__name__, dialog)
        dialog.close()
    models.close()
    window.quick.open("Was? 什么?")
    quick = window.quick.view
    assert quick is not None
    look("quick", quick)
    quick.button.click()
    while slipstream.services.quick.note or slipstream.services.quick.running:
        settle(30)
    look("quick-reply", quick)
    window.close()
    slipstream.services.client.wait(60)
    slipstream.services.store.wait(60)
    print("\n".join(bad) or f"{number} screens")
    return bool(bad)


if __name__ == "__main__":
    status = main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    sys.stdout.flush()
    os._exit(status)
