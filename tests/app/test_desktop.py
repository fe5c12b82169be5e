"""The app as its user meets it: its own process on a screen of its own, keys from a keyboard, the demo pair; nothing of it is
imported. What came of the keys is read where the app keeps it: in its database, and in the titles of its windows."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600  # for busy machines

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="xdotool types into X11, which is Linux's"),
]


class Desktop:
    """A screen without a window manager, its keyboard, and the app's folders."""

    def __init__(self, home: Path) -> None:
        self.home = home
        read, write = os.pipe()
        self._screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1440x900x24", "-nolisten", "tcp"],
            pass_fds=[write],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as numbers:
            self.display = f":{numbers.readline().strip()}"
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "QT_", "WAYLAND_"))}
        self.environment = {
            **mine,
            "DISPLAY": self.display,
            "HOME": str(home),
            "TMPDIR": str(home),
            "QT_QPA_PLATFORM": "xcb",
            "SLIPSTREAM_LANGUAGE": "en",
            "HF_HUB_OFFLINE": "1",
        }
        self.app: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the app and wait for its window to have the keyboard."""
        self.app = subprocess.Popen(
            [sys.executable, "-m", "app"], cwd=ROOT, env=self.environment, stderr=subprocess.PIPE, text=True
        )
        self.until(lambda: bool(self.windows("")), "a window")

    def end(self) -> str:
        """Wait for the app's end; what it wrote to its terminal."""
        assert self.app is not None
        _, said = self.app.communicate(timeout=PATIENCE_S)
        assert self.app.returncode == 0, said
        return said

    def close(self) -> None:
        for process in (self.app, self._screen):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def xdotool(self, *words: str) -> str:
        done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout

    def windows(self, title: str) -> list[str]:
        """Ids of the windows whose title has this part."""
        assert self.app is not None
        return self.xdotool("search", "--onlyvisible", "--all", "--pid", str(self.app.pid), "--name", title).split()

    def press(self, *keys: str) -> None:
        self.xdotool("key", "--delay", "60", *keys)
        time.sleep(0.3)

    def type(self, text: str) -> None:
        self.xdotool("type", "--delay", "12", text)
        time.sleep(0.3)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, f"waited in vain for {what}"
            assert self.app is None or self.app.poll() is None, self.app.stderr.read() if self.app.stderr else ""
            time.sleep(0.2)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database says; nothing before it is there."""
        file = self.home / ".local/share/Slipstream/chats.db"
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()
        return []

    @property
    def questions(self) -> list[str]:
        return [text for (text,) in self.rows("SELECT text FROM message WHERE role = 'user' ORDER BY number")]

    @property
    def replies(self) -> list[dict[str, Any]]:
        """What is stored of the replies that have ended."""
        query = "SELECT text, details FROM message WHERE role = 'assistant' AND NOT running ORDER BY number"
        return [{"text": text, **json.loads(details)} for text, details in self.rows(query)]

    def focus(self, title: str) -> None:
        """Give a window the keyboard, as a window manager would."""

        def focused() -> bool:
            found = self.windows(title)
            return bool(found) and self.xdotool("windowfocus", "--sync", found[-1], "getwindowfocus").strip() == found[-1]

        self.until(focused, f"the window {title}")


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[Desktop]:
    wanted = subprocess.run(
        ["sh", "packaging/system.sh", "command", "desktop"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    if wanted.stdout:
        pytest.fail(f"Xvfb, a screen that nobody sees, or xdotool, its keyboard, is not here. To get it: {wanted.stdout.strip()}")
    made = Desktop(tmp_path)
    yield made
    made.close()


def test_the_app_is_usable_by_keyboard_alone(desktop: Desktop) -> None:
    """Type, send, stop, toggle DFlash, compare, edit, search, quit, reopen."""
    first, second = "What is speculative decoding?", "Convert 37 kilometres to metres."
    desktop.start()
    desktop.focus("^Slipstream$")

    def sent(question: str) -> bool:
        desktop.press("Return")  # the models may still be loading: then it stays in the field
        return desktop.questions[-1:] == [question]

    desktop.type(first)
    desktop.until(lambda: sent(first), "the first question")
    desktop.until(lambda: len(desktop.replies) == 1, "the first reply")
    assert desktop.replies[0]["text"] and desktop.replies[0]["mode"] == "dflash" and desktop.replies[0]["reason"] == "eos"

    desktop.type("Write a Python function that checks if a number is prime.")
    desktop.xdotool("key", "--delay", "20", "Return", "Escape")
    desktop.until(lambda: len(desktop.replies) == 2, "the end of a reply that was stopped")
    assert desktop.replies[1]["reason"] == "cancelled"

    desktop.press("ctrl+shift+d")
    desktop.type(second)
    desktop.press("Return")
    desktop.until(lambda: len(desktop.replies) == 3, "a plain reply")
    assert desktop.replies[2]["mode"] == "plain" and desktop.replies[2]["reason"] == "eos"
    desktop.press("ctrl+shift+d")

    desktop.press("ctrl+shift+k")
    desktop.focus("^Compare$")
    desktop.until(lambda: len(desktop.rows("SELECT id FROM comparison")) == 1, "the comparison")
    record = json.loads(desktop.rows("SELECT record FROM comparison")[0][0])
    assert record["prompt"] == second
    desktop.press("Escape")
    desktop.until(lambda: not desktop.windows("^Compare$"), "the end of Compare")

    desktop.focus(f"^{first[:12]}")
    desktop.press("ctrl+shift+e")
    desktop.press("ctrl+a")
    desktop.type("Convert 38 kilometres to metres.")
    desktop.press("Return")
    desktop.until(lambda: len(desktop.replies) == 4, "the reply to the edited question")
    assert desktop.questions[-1] == "Convert 38 kilometres to metres." and len(desktop.questions) == 4
    same = desktop.rows("SELECT count(*) FROM message WHERE role = 'user' GROUP BY parent ORDER BY 1 DESC LIMIT 1")
    assert same == [(2,)], "the edited question is next to the old one"

    desktop.press("ctrl+n")
    desktop.until(lambda: bool(desktop.windows("^Slipstream$")), "a new chat")
    desktop.press("ctrl+shift+f")
    desktop.type("38 kilom")

    def reached() -> bool:
        desktop.press("Down", "Return")  # neither does anything before the results are there
        return bool(desktop.windows(f"^{first[:12]}"))

    desktop.until(reached, "the chat that was searched for")

    desktop.press("ctrl+l")
    desktop.type("Not sent")
    desktop.press("ctrl+q")
    said = desktop.end()
    assert "Traceback" not in said and "QThread" not in said

    desktop.start()
    desktop.focus(f"^{first[:12]}")
    desktop.until(lambda: sent("Not sent"), "the question that was written before the app was quit")
    desktop.until(lambda: len(desktop.replies) == 5, "its reply")
    desktop.press("ctrl+q")
    desktop.end()
