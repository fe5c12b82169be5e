"""Pictures of scenes of the window at 700x500, light and dark, in one language.

python -m tests.benchmarks.scenes FOLDER    with SLIPSTREAM_LANGUAGE set, started by `screenshots.py --scenes`
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEventLoop, QSize, QTimer
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from app.application import Slipstream
from app.session.notice import Notice
from app.system.data_paths import DataPaths
from app.text import language
from app.text.language import tr
from app.views.chat.project_settings import ProjectSettingsDialog
from app.views.machine.this_mac import ThisMacDialog
from app.views.models.endpoint_form import EndpointForm
from app.views.models.model_menu import ModelMenu
from app.views.models.picker_dialog import PickerDialog
from app.views.settings.settings_dialog import SettingsDialog, pane_names
from app.views.transcript.read_pages import DocumentPageDialog, ReadPages
from app.widgets.layout import fit_content
from mlx_engine.contract.requests import Endpoint, LoadPair
from mlx_engine.network import connection_log
from mlx_engine.network.connection_log import FEATURES, ConnectionRecord
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from mlx_engine.remote.server import RemoteServer
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done

SIZE = QSize(700, 500)
CHATS = {  # questions, and an answer
    "en": ("Why is the sky blue?", "A week in Lisbon", "Compare two sorting methods", "Sunlight is scattered by the air."),
    "de": ("Warum ist der Himmel blau?", "Eine Woche in Lissabon", "Zwei Sortierverfahren", "Die Luft streut das Sonnenlicht."),
    "zh_CN": ("天空为什么是蓝色的？", "里斯本一周行程", "比较两种排序方法", "空气散射太阳光。"),
}
BEES = {  # a project, a page of its documents, a question, and an answer
    "en": (
        "Beekeeping",
        "# Winter\n\nA colony needs 15 kg of honey.\n\n## Feeding\n\nFeed sugar syrup until September.",
        "How much honey does a colony need in winter?",
        "A colony needs 15 kg of honey [bees.md, page 1].",
    ),
    "de": (
        "Imkerei",
        "# Winter\n\nEin Volk braucht 15 kg Honig.\n\n## Füttern\n\nFüttern Sie Zuckersirup bis September.",
        "Wie viel Honig braucht ein Volk im Winter?",
        "Ein Volk braucht 15 kg Honig [bees.md, Seite 1].",
    ),
    "zh_CN": (
        "养蜂",
        "# 冬季\n\n一个蜂群需要 15 公斤蜂蜜。\n\n## 饲喂\n\n请在九月之前饲喂糖浆。",
        "蜂群冬季需要多少蜂蜜？",
        "一个蜂群需要 15 公斤蜂蜜 [bees.md, 第 1 页]。",
    ),
}
TABLE = """

| n | log n | n log n |
|---|---|---|
| 10 | 3.3 | 33 |
| 1000 | 10 | 9966 |

```python
def merge(left, right):
    while left and right:
        yield (left if left[0] < right[0] else right).pop(0)
```
"""


def settle(milliseconds: int = 250) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        settle(20)


class Scenes:
    """The scenes. Each leaves the window unchanged."""

    def __init__(self, slipstream: Slipstream, engine: ScriptedEngine, code: str, folder: Path) -> None:
        self._slipstream, self._engine, self._code, self._folder = slipstream, engine, code, folder
        self._services, self._window, self._theme = slipstream.services, slipstream.window, slipstream.theme
        self._questions = CHATS[code][:3]

    def take_all(self) -> None:
        """Take all pictures."""
        self._save("start", self._window)
        self._window.resize(self._window.minimumSize())
        self._save("smallest", self._window)
        self._window.resize(SIZE)
        self._chat()
        self._quick_chat()
        self._project()
        self._popover()
        self._hub_search()
        self._connection_form()
        self._settings()
        self._cut_line()
        self._notices()
        self._ledger()

    def _save(self, name: str, *widgets: QWidget) -> None:
        """Save a picture of a window in both appearances, with its popups on it."""
        for appearance in ("dark", "light"):
            self._theme.set_appearance(appearance)
            settle()
            picture = QPixmap(widgets[0].grab())
            painter = QPainter(picture)
            for popup in widgets[1:]:
                painter.drawPixmap(widgets[0].mapFromGlobal(popup.pos()), popup.grab())
            painter.end()
            picture.save(str(self._folder / f"{self._code}-{name}-{appearance}.png"))

    def _ask(self, text: str) -> None:
        self._services.session.send(text)
        until(lambda: not self._services.activity.busy)

    def _chat(self) -> None:
        """A reply, next to a chat whose reply is being generated and one with a new reply."""
        session, gate = self._services.session, threading.Event()
        end = CHATS[self._code][3]
        whole = "\n\n".join([f"**{end}**", end, TABLE])
        self._engine.replies = [answer(end), [commit(end), gate, done()], [commit(end), threading.Event(), done()]]
        self._ask(self._questions[0])
        for question in self._questions[1:]:
            session.new_chat()
            session.send(question)
            settle()
        self._engine.replies = [answer(whole)]
        session.new_chat()
        session.send(self._questions[0])
        gate.set()
        settle(1000)
        self._save("chat", self._window)
        self._services.reply_runner.interrupt_all()
        until(lambda: not self._services.activity.busy)

    def _quick_chat(self) -> None:
        """Text of another app in the quick window, and a reply there."""
        quick = self._services.quick
        self._window.quick.open(CHATS[self._code][3])
        view = self._window.quick.view
        assert view is not None
        self._save("quick", view)
        self._engine.replies = [answer("\n\n".join([CHATS[self._code][3], TABLE]))]
        quick.write(self._questions[0])
        quick.send()
        until(lambda: bool(quick.chat.turns) and not quick.running)
        settle(1000)
        self._save("quick-reply", view)
        view.close()

    def _project(self) -> None:
        """A project's settings, a reply that cites one of its documents, and the page."""
        name, text, question, reply = BEES[self._code]
        folder = Path(tempfile.mkdtemp(), name)
        folder.mkdir()
        (folder / "bees.md").write_text(text)
        project = self._services.library.add_project(name)
        self._services.projects.add_documents(project.id, [str(folder)])
        self._services.projects.new_chat(project.id)
        self._window.dialogs.show_project_settings(project.id)
        sheet = self._window.dialogs.find(ProjectSettingsDialog)
        assert sheet is not None
        self._save("project", sheet)
        sheet.close()
        self._engine.replies = [answer(reply)]
        self._services.message.write(question)
        self._services.message.send()
        until(lambda: bool(self._services.session.chat.turns) and not self._services.activity.busy)
        settle(1000)
        self._save("citation", self._window)
        pages = next(one for one in self._window.findChildren(ReadPages) if one.isVisible())
        pages.buttons[0].click()
        until(lambda: bool(self._window.findChildren(DocumentPageDialog)))
        (dialog,) = self._window.findChildren(DocumentPageDialog)
        self._save("citation-page", dialog)
        dialog.close()

    def _popover(self) -> None:
        for name in ("Qwen3-Coder-30B-A3B-Instruct-MLX-4bit-DWQ", "Gemma 4 12B", "Qwen3.8 27B"):
            self._engine.pair = replace(PAIR, name=name, can_see=True)
            self._services.activity.use(LoadPair(Path(name), Path(f"{name}-drafter")))
            until(lambda: not self._services.loader.running)
        recent = self._services.recent_models
        recent.pin(recent.listed[1], True)
        self._window.top_bar.name.click()
        (menu,) = self._window.findChildren(ModelMenu)
        settle(500)
        self._save("popover", self._window, menu)
        menu.close()

    def _hub_search(self) -> None:
        picker = self._services.picker
        self._window.dialogs.show_models()
        dialog = self._window.dialogs.find(PickerDialog)
        assert dialog is not None
        until(lambda: bool(picker.rows.matching))
        self._save("models", dialog)
        dialog.search.setText("qwen")
        picker.rows.narrow("qwen", "hub")
        until(lambda: bool(picker.rows.found) and not any(one.is_unchecked for one in picker.rows.found))
        settle(1000)
        self._save("hub-search", dialog)
        dialog.close()

    def _connection_form(self) -> None:
        endpoints = self._services.picker.endpoints
        form = EndpointForm(self._theme, endpoints, SavedEndpoint("Lab", Endpoint("http://192.168.1.20:8000")), self._window)
        form.show()
        fit_content(form)
        self._save("connection", form)
        little = RemoteServer("other", "", ("a", "b"), "a", can_call_tools=False, can_think=False)
        endpoints.test = lambda tested, then: then(little)  # type: ignore[method-assign]
        form.test.click()
        settle()
        self._save("connection-tested", form)
        form.close()

    def _settings(self) -> None:
        """All panes; the one with the connections is "settings-network"."""
        for number, feature in enumerate((*FEATURES, *FEATURES)):
            host = ("huggingface.co", "cdn-lfs.huggingface.co", "192.168.1.20", "127.0.0.1")[number % 4]
            at, received = time.time() - 4000 * number, 3_141_592 << number % 11
            outcome = "refused" if number == 2 else "closed"
            record = ConnectionRecord(str(number), at, host, 443, feature, outcome, 2000 + number, received)  # type: ignore[arg-type]
            connection_log.append(record)
        for pane in pane_names():
            self._window.dialogs.show_settings(pane)
            dialog = self._window.dialogs.find(SettingsDialog)
            assert dialog is not None
            dialog.resize(SIZE)
            settle(500)
            self._save(f"settings-{pane}", dialog)
        dialog.close()

    def _cut_line(self) -> None:
        session = self._services.session
        session.new_chat()
        for question in self._questions:
            self._ask(question)
        session.set_summary(session.chat.turns[0].last, CHATS[self._code][3])
        settle()
        transcript = self._window.transcript
        transcript.go_to_message([item.kind for item in transcript.column.items].index("cut"))
        settle()
        self._save("cut-line", self._window)
        session.set_summary(session.chat.turns[0].last, "")

    def _notices(self) -> None:
        """A full context, Offline, quiet mode, and several notices."""
        services = self._services
        services.preferences.offline = services.preferences.quiet_mode = True
        self._engine.counts_words = True
        self._engine.pair = replace(PAIR, context_limit=60)
        services.activity.use()
        until(lambda: not services.loader.running)
        self._window.composer.field.setPlainText("text " * 80)
        until(lambda: not services.meter.counting)
        services.notices.post(Notice(services.settings_refusal, "error"))
        services.notices.post(Notice(tr("Your settings are being saved again.")))
        services.message.send()
        settle()
        self._save("notices", self._window)
        self._window.composer.field.clear()
        services.preferences.offline = services.preferences.quiet_mode = False

    def _ledger(self) -> None:
        self._window.dialogs.show_this_mac()
        dialog = self._window.dialogs.find(ThisMacDialog)
        assert dialog is not None
        dialog.resize(SIZE)
        until(lambda: self._services.memory.found is not None and not self._services.roofline_runner.running)
        self._save("ledger", dialog)
        dialog.close()


def main(folder: Path) -> None:
    """Take all pictures, and end the process."""
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp())
    language.start(Path(os.devnull))
    application = QApplication(sys.argv[:1])
    application.setQuitOnLastWindowClosed(False)
    language.translate_qt()
    engine = ScriptedEngine()
    slipstream = Slipstream(application, DataPaths(home, home, home), lambda: engine)
    slipstream.window.resize(SIZE)
    slipstream.start()
    until(lambda: slipstream.services.loader.progress is None)
    settle()
    Scenes(slipstream, engine, os.environ[language.VARIABLE], folder).take_all()
    slipstream.window.close()
    slipstream.services.client.wait(20)
    os._exit(0)  # the hub's connections of the search may still be open


if __name__ == "__main__":
    main(Path(sys.argv[1]))
