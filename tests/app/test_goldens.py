"""The transcript as a picture, with the font that comes with Slipstream.

SLIPSTREAM_GOLDENS=write .venv/bin/python -m pytest tests/app/test_goldens.py   recreates the pictures; look at them before
they are committed.

The same text drawn by another FreeType differs at the edges of letters, by little and evenly. So two figures are held: the share of
pixels that differ by more than a quarter of the range, and the mean difference. A line moved by one pixel breaks a bound; that is
tested too.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QFont, QFontDatabase, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.views.transcript.transcript import Transcript
from app.widgets.theme import FONTS, Theme
from tests.app.conftest import reply_views
from tests.app.scripted_engine import a_round, commit, done

GOLDENS = Path(__file__).parent / "goldens"
SIZE = QSize(720, 900)
MOST_FAR = 0.004  # share of pixels that differ by more than FAR levels of 256
FAR = 64
MOST_MEAN = 0.5  # levels

REPLY = """## Widths of a block

A *draft* is checked in **one pass**; `accept` keeps the longest prefix. See [the paper](https://example.org).

1. Draft a block.
2. Check it.
   - Keep what agrees.
   - Put back the rest.

> What is shown is the target's own choice.

| Width | Tokens a round |
|------:|:---------------|
| 4 | 3.1 |
| 16 | 8.9 |

```python
def accept(drafted, chosen):
    for place, token in enumerate(drafted):  # the longest prefix
        if token != chosen[place]:
            return place
    return len(drafted)
```

- [x] Draft
- [ ] Rest
"""


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    for file in sorted(FONTS.glob("*.ttf")):
        QFontDatabase.addApplicationFont(str(file))
    theme = Theme(qapp)
    for font, family in ((theme.text_font, "Inter"), (theme.code_font, "JetBrains Mono")):
        font.setFamilies([family])
        font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    before = qapp.font()
    qapp.setFont(theme.text_font)
    yield theme
    qapp.setFont(before)
    theme.set_appearance("system")
    theme.set_contrast("system")
    theme.deleteLater()


def picture(theme: Theme, qtbot: QtBot) -> QImage:
    chat = Chat()
    turn = chat.ask("How wide should a block be, and why? Ångström?", "dflash")
    for event in (commit(REPLY, 180), a_round(), done()):
        turn.reply.accept(event, 0.0)
    transcript = Transcript(theme)
    qtbot.addWidget(transcript)
    transcript.resize(SIZE)
    transcript.show_turns(chat.turns)
    transcript.show()
    transcript.setFocus()
    transcript.verticalScrollBar().setValue(0)
    qtbot.waitUntil(lambda: all(view.complete for view in reply_views(transcript)), timeout=60_000)
    qtbot.wait(50)
    transcript.verticalScrollBar().setValue(0)
    image = QImage(SIZE, QImage.Format.Format_RGB32)
    image.fill(theme.colors.window)
    transcript.render(image)
    return image


def pixels(image: QImage) -> np.ndarray:
    """[height, width, 3], 0 to 255."""
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(np.int16)


def difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Share of pixels that are far apart, and the mean distance in levels."""
    apart = np.abs(one - other).max(axis=2)
    return float((apart > FAR).mean()), float(apart.mean())


@pytest.mark.parametrize("name", ["light", "dark", "high-contrast", "large-text"])
def test_the_transcript_looks_as_it_did(theme: Theme, qtbot: QtBot, tmp_path: Path, name: str) -> None:
    theme.set_appearance("dark" if name == "dark" else "light")
    theme.set_contrast("high" if name == "high-contrast" else "standard")
    theme.set_text_size(20 if name == "large-text" else DEFAULT_TEXT_SIZE)
    image = picture(theme, qtbot)
    file = GOLDENS / f"{name}.png"
    if os.environ.get("SLIPSTREAM_GOLDENS") == "write":
        GOLDENS.mkdir(exist_ok=True)
        assert image.save(str(file))
    golden = QImage(str(file))
    assert golden.size() == SIZE, f"{file} is missing"
    far, mean = difference(pixels(image), pixels(golden))
    if far > MOST_FAR or mean > MOST_MEAN:
        image.save(str(tmp_path / file.name))
        pytest.fail(f"{100 * far:.2f} % of pixels are far apart, the mean is {mean:.2f} levels; see {tmp_path / file.name}")


def test_the_bounds_find_a_line_that_moved_and_forgive_softer_edges() -> None:
    golden = pixels(QImage(str(GOLDENS / "light.png")))
    below = golden.copy()
    below[300:] = golden[299:-1]  # from one line on, all is one pixel lower
    assert difference(below, golden)[0] > MOST_FAR
    recolored = golden.copy()
    recolored[golden.max(axis=2) < 60] += 120  # letters of another grey
    assert difference(recolored, golden)[1] > MOST_MEAN
    softer = golden.copy()
    softer[:, 1:] = (15 * golden[:, 1:] + golden[:, :-1]) // 16  # as by another way of smoothing letters
    far, mean = difference(softer, golden)
    assert far <= MOST_FAR and mean <= MOST_MEAN
