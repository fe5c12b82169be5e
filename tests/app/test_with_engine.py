"""The window with the real engine: errors of pairs and prompts reach the chat."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.application import Slipstream
from app.system.data_paths import DataPaths
from app.views.compare.compare_view import CompareDialog
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.requests import LoadPair
from tests.app.conftest import PATIENCE_MS, reply_views

GOLDEN = Path(__file__).parents[1] / "golden" / "e2e_qwen3"
Begin = Callable[[], Slipstream]
SHORT = 24  # tokens; the pair would fill its context
MAX_GROWTH_MB = 30  # over 100 short replies


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the tiny reference pair, to be damaged."""
    for part in ("target", "drafter"):
        shutil.copytree(GOLDEN / part, tmp_path / part)
    (tmp_path / "target" / "chat_template.jinja").write_text("{% for message in messages %}{{ message['content'] }} {% endfor %}")
    return tmp_path / "target", tmp_path / "drafter"


@pytest.fixture
def begin_with_demo(qapp: QApplication, qtbot: QtBot, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Start the app with the demo pair."""
    started: list[Slipstream] = []

    def start() -> Slipstream:
        slipstream = Slipstream(qapp, DataPaths(tmp_path, tmp_path))
        started.append(slipstream)
        slipstream.start()
        qtbot.waitUntil(lambda: slipstream.services.loader.progress is None, timeout=PATIENCE_MS)
        return slipstream

    yield start
    for slipstream in started:
        slipstream.window.close()
        assert slipstream.services.client.wait(PATIENCE_MS / 1000)
        slipstream.window.deleteLater()


@pytest.fixture
def begin(begin_with_demo: Begin, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Start the app with that pair in place of the demo pair."""
    monkeypatch.setattr("mlx_engine.engine.engine.demo_pair", lambda: pair)
    return begin_with_demo


def test_missing_model_files_are_reported(begin: Begin, pair: tuple[Path, Path]) -> None:
    shutil.rmtree(pair[0])
    (notice,) = begin().services.notices.texts
    assert notice.startswith("Can't find the folder") and "target" in notice


def test_truncated_model_files_are_reported(begin: Begin, pair: tuple[Path, Path]) -> None:
    weights = pair[1] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    (notice,) = begin().services.notices.texts
    assert "drafter" in notice and "is damaged or incomplete" in notice


def test_a_drafter_that_does_not_fit_is_reported(begin: Begin, pair: tuple[Path, Path]) -> None:
    config = pair[1] / "config.json"
    fields = json.loads(config.read_text())
    config.write_text(json.dumps({**fields, "hidden_size": 2 * fields["hidden_size"]}))
    slipstream = begin()
    (notice,) = slipstream.services.notices.texts
    assert "drafter" in notice and "Something went wrong" not in notice
    assert slipstream.services.loader.pair is None


def test_loading_succeeds_after_the_files_are_fixed(begin: Begin, pair: tuple[Path, Path], qtbot: QtBot) -> None:
    weights = pair[0] / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:1000])
    slipstream = begin()
    assert slipstream.services.loader.pair is None
    weights.write_bytes(whole)
    slipstream.services.activity.use(LoadPair(*pair))
    qtbot.waitUntil(lambda: slipstream.services.loader.pair is not None, timeout=PATIENCE_MS)


def test_a_prompt_longer_than_the_context_is_reported(begin: Begin, qtbot: QtBot) -> None:
    slipstream = begin()
    assert slipstream.services.loader.pair is not None, slipstream.services.notices.texts
    slipstream.services.session.set_settings(replace(slipstream.services.session.chat.settings, max_tokens=SHORT))
    slipstream.services.session.send("word " * slipstream.services.loader.pair.context_limit)
    qtbot.waitUntil(lambda: not slipstream.services.activity.busy, timeout=PATIENCE_MS)
    error = reply_views(slipstream.window.transcript)[-1].error
    assert error is not None and "the context holds" in error.label.text()
    slipstream.services.session.send("Hi")
    qtbot.waitUntil(lambda: not slipstream.services.activity.busy, timeout=PATIENCE_MS)
    reply = slipstream.services.session.chat.turns[-1].reply
    assert reply.stats is not None and reply.stats.tokens > 0, reply.error
    assert reply.stats.mode == "dflash"  # whether it pays is for the clock to say


def test_a_model_without_a_chat_template_offers_another_one(begin: Begin, pair: tuple[Path, Path], qtbot: QtBot) -> None:
    (pair[0] / "chat_template.jinja").unlink()
    window = begin().window
    window.services.session.send("Hi")
    qtbot.waitUntil(lambda: not window.services.activity.busy, timeout=PATIENCE_MS)
    error = reply_views(window.transcript)[-1].error
    assert error is not None and error.label.text().startswith("This model has no chat template")
    (choose,) = [made for made in error.findChildren(QPushButton) if made.text() == "Choose a Model…"]
    choose.click()
    assert window.dialogs.find(PickerDialog) is not None


def test_comparing_with_the_real_engine_ends_with_a_verdict(begin: Begin, qtbot: QtBot) -> None:
    slipstream = begin()
    slipstream.services.session.set_settings(replace(slipstream.services.session.chat.settings, max_tokens=SHORT))
    slipstream.services.session.send("Hi")
    qtbot.waitUntil(lambda: not slipstream.services.activity.busy, timeout=PATIENCE_MS)
    slipstream.services.comparer.compare()
    dialog = slipstream.window.dialogs.find(CompareDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: not slipstream.services.activity.busy, timeout=PATIENCE_MS)
    assert dialog.record is not None and dialog.record.verdict == "identical"
    assert "identical" in dialog.verdict.text()
    dialog.close()


@pytest.mark.long
def test_memory_stays_flat_over_two_hundred_short_replies(begin_with_demo: Begin, qtbot: QtBot) -> None:
    services = begin_with_demo().services

    def megabytes_after(replies: range) -> float:
        for number in replies:
            if number % 5 == 0:
                services.session.new_chat()
                services.session.set_settings(replace(services.session.chat.settings, max_tokens=SHORT))
            assert services.session.send(f"How many positive whole-number divisors does {number + 2} have?")
            qtbot.waitUntil(lambda: not services.activity.busy, timeout=PATIENCE_MS)
        size = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, check=True).stdout
        return int(size) / 1000

    middle = megabytes_after(range(100))
    end = megabytes_after(range(100, 200))
    assert end - middle < MAX_GROWTH_MB


def test_a_program_and_the_chat_get_the_same_reply_from_one_pair_at_the_same_time(
    begin_with_demo: Begin, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_engine.api_server.api_key.stored_key", lambda: ("a-secret-key", False))
    slipstream = begin_with_demo()
    window, question = slipstream.window, "What is 7 times 8?"
    window.services.preferences.server_port = 0
    window.services.server.set_on(True)
    qtbot.waitUntil(lambda: bool(window.services.server.url), timeout=PATIENCE_MS)
    body = {"messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": 800}
    with (
        httpx2.Client(base_url=window.services.server.url, trust_env=False, timeout=PATIENCE_MS / 1000) as client,
        client.stream(
            "POST",
            "/v1/chat/completions",
            json={**body, "ignore_eos": True, "max_tokens": 1500, "stream": True},
            headers={"authorization": "Bearer a-secret-key"},
        ) as long_reply,
    ):
        lines = long_reply.iter_lines()
        next(lines)
        window.composer.field.setPlainText(question)
        window.composer.button.click()
        qtbot.waitUntil(lambda: not slipstream.services.activity.busy, timeout=PATIENCE_MS)
        assert window.services.server.programs == 1, "the program's reply is still being generated"
    with httpx2.Client(base_url=window.services.server.url, trust_env=False, timeout=PATIENCE_MS / 1000) as client:
        answered = client.post("/v1/chat/completions", json=body, headers={"authorization": "Bearer a-secret-key"}).json()
    reply = slipstream.services.session.chat.turns[-1].reply
    assert answered["choices"][0]["message"]["content"] == reply.answer != ""
    assert answered["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, "the chat has read the same prompt"
    window.services.server.close(PATIENCE_MS / 1000)


def test_the_demo_pair_uses_the_calculator_once_it_is_allowed(begin_with_demo: Begin, qtbot: QtBot) -> None:
    slipstream = begin_with_demo()
    transcript = slipstream.window.transcript
    transcript.welcome.calculation.click()
    qtbot.waitUntil(lambda: bool(slipstream.services.reply_runner.asking), timeout=PATIENCE_MS)
    (card,) = reply_views(transcript)[-1].steps[0].cards
    qtbot.waitUntil(card.choices[0].isEnabled, timeout=PATIENCE_MS)
    card.choices[0].click()
    qtbot.waitUntil(lambda: not slipstream.services.activity.busy, timeout=PATIENCE_MS)
    reply = slipstream.services.session.chat.turns[-1].reply
    assert [(record.state, record.result) for record in reply.calls] == [("done", "1888264")]
    assert reply.answer == "4817 × 392 = **1888264**."
    first, second = reply.step_stats
    assert first.mode == second.mode == "dflash"
    assert second.reused_tokens >= first.prompt_tokens - 1, "the second step reads only what is new"
