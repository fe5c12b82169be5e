"""Opens the main screens at several window and text sizes and checks that nothing is clipped and nothing overlaps.

python -m tests.app.sizes [--few] LANGUAGE [FOLDER]    with SLIPSTREAM_LANGUAGE set; pictures of the screens go into FOLDER

With --few, only the largest text in the smallest window.
"""

import os
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

from tests.app.screens import (  # before Qt: it sets folders and the language
    clipped,
    outside,
    overlapping,
    settle,
    show_calls,
    show_result,
    show_server_in_use,
    show_tuning,
    skip_report_checks,
)

from PySide6.QtCore import QSize  # isort: skip
from PySide6.QtWidgets import QApplication, QDialog, QStackedWidget, QWidget  # isort: skip

from app.application import Slipstream
from app.session.other_macs import OtherMac
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.system.data_paths import DataPaths
from app.text import language
from app.views.models.endpoint_form import EndpointForm
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.requests import Endpoint
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.scripted_engine import PAIR, ScriptedEngine, a_round, commit, done

SIZES = (QSize(700, 500), QSize(1000, 760), QSize(1600, 1000))
PERCENT = (100, 150, 200)
LONGEST = "Qwen3-Coder-30B-A3B-Instruct-MLX-4bit-DWQ"  # as long as names get


def main(code: str, folder: Path | None, few: bool) -> int:
    skip_report_checks()
    application = QApplication([])
    application.setQuitOnLastWindowClosed(False)
    language.translate_qt()
    home = Path(tempfile.mkdtemp())
    script = [commit("Thoughts", 2, "thinking"), a_round(), commit("Some text\n\n```python\nprint(1)\n```", 9), done()]
    engine = ScriptedEngine([script] * 3, replace(PAIR, name=LONGEST, target=LONGEST))
    slipstream = Slipstream(application, DataPaths(home, home, home), lambda: engine)
    window = slipstream.window
    slipstream.start()
    settle(300)
    while slipstream.services.loader.progress is not None:
        settle(30)
    window.composer.field.setPlainText("Show me")
    window.composer.button.click()
    while slipstream.services.activity.busy:
        settle(30)
    show_calls(window)
    note = home / "a long name of a file with notes about speculative decoding.md"
    note.write_text("1")
    slipstream.services.attachments.attach([note])
    window.dialogs.show_settings()
    window.dialogs.show_chat_settings()
    window.dialogs.show_this_mac()
    window.dialogs.show_help()
    window.dialogs.show_report()
    window.dialogs.show_about()
    show_server_in_use(window)
    show_tuning(window)
    window.dialogs.show_models()
    slipstream.services.comparer.compare()
    while not window.services.picker.rows.matching or slipstream.services.activity.busy:
        settle(30)
    models = window.dialogs.find(PickerDialog)
    assert models is not None
    url = "http://192.168.1.20:8000"
    saved = SavedEndpoint("Server", Endpoint(url, model="organization/model", plain_url=url, headers=(("Name", "1"),)))
    window.services.picker.put_endpoint(saved)
    models.endpoint.edit.click()
    show_result(models.findChild(EndpointForm), window.services.picker)
    window.services.macs.macs = (OtherMac("mac-studio-2.office.local:47820", used=False),)
    models.mac.trigger()
    bad: list[str] = []
    chat = slipstream.services.session.chat.id

    def look(name: str, screen: QWidget) -> None:
        for _ in range(20):  # layouts and counts may still be on their way
            settle(40)
            if not (problems := clipped(screen) + overlapping(screen) + outside(screen)):
                break
        bad.extend(f"{name}: {one}" for one in problems)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            screen.grab().save(str(folder / f"{name}.png"))

    screens: list[QWidget] = [window, *window.findChildren(QDialog)]
    for percent, size in [(PERCENT[-1], SIZES[0])] if few else product(PERCENT, SIZES):
        slipstream.theme.set_text_size(round(DEFAULT_TEXT_SIZE * percent / 100))
        for screen in screens:
            screen.resize(size)
            name = f"{code}-{percent}-{size.width()}-{type(screen).__name__}"
            if screen.width() > max(size.width(), 1000) or screen.height() > max(size.height(), 700):
                bad.append(f"{name}: does not fit on a small screen: {screen.size().toTuple()}")
            pages = screen.findChildren(QStackedWidget) if isinstance(screen, QDialog) else []
            for stack in pages:
                for page in range(stack.count()):
                    stack.setCurrentIndex(page)
                    look(f"{name}-{page}", screen)
            if isinstance(screen, PickerDialog):
                for pair in ("demo", window.services.picker.rows.matching[-1].id, "connection:Server"):
                    window.services.picker.rows.select(pair)
                    look(f"{name}-{pair[:4].strip('/')}", screen)
            elif not pages:
                look(name, screen)
            if screen is window:
                slipstream.services.session.new_chat()
                look(f"{name}-welcome", window)
                slipstream.services.session.open_chat(chat)
    window.close()
    slipstream.services.client.wait(60)
    slipstream.services.store.wait(60)
    print("\n".join(bad) or f"{len(screens)} screens")
    return bool(bad)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--few"]
    status = main(arguments[0], Path(arguments[1]) if len(arguments) > 1 else None, few="--few" in sys.argv)
    sys.stdout.flush()
    os._exit(status)
