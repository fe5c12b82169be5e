"""Progress without a terminal: at least a line per interval while work lasts, and no more than that."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli.console import LINE_EVERY, ProgressLine

STEPS = st.lists(st.tuples(st.floats(0.05, LINE_EVERY / 3), st.sampled_from(["show", "show", "show", "say"])), min_size=1)


@given(STEPS)
def test_lines_come_at_intervals_and_messages_at_once(steps: list[tuple[float, str]]) -> None:
    now, shown = 0.0, list[tuple[float, str]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlx_engine.cli.console.note", lambda text: shown.append((now, text)))
        line = ProgressLine(quiet=True, clock=lambda: now)
        for number, (pause, name) in enumerate(steps):
            now += pause
            getattr(line, name)(f"{number} {name}")
            line.end()
    times = [0.0, *(at for at, _ in shown), now]
    assert max(later - earlier for earlier, later in pairwise(times)) < LINE_EVERY + LINE_EVERY / 3
    messages = [f"{number} say" for number, (_, name) in enumerate(steps) if name == "say"]
    assert [text for _, text in shown if text.endswith("say")] == messages
    regular = [at - times[number] for number, (at, text) in enumerate(shown) if text.endswith("show")]
    assert all(pause >= LINE_EVERY for pause in regular)


def test_a_terminal_shows_every_state_on_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    line.show("1%")
    line.show("2%")
    line.end()
    assert capsys.readouterr().err == "\r\033[K1%\r\033[K2%\r\033[K"
