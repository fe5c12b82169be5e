"""The Compare window: prompts, results, history, and exports."""

import json
import threading
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.rendering.table_view import TableChunk
from app.session.compare_run import CompareRun, ComparisonOptions
from app.session.engine_adapter import Delivery
from app.storage.comparison_record import ComparedReply, ComparisonRecord, ComparisonRow, ComparisonVerdict, verdict_on
from app.storage.store import Store
from app.text.dates import date_and_time, short_date
from app.text.plain_text import clean
from app.views.compare.compare_view import CompareDialog
from app.views.compare.comparison_card import HEIGHT, WIDTH, card
from app.views.pictures.pdf_dialog import PdfDialog
from app.window.help import HelpDialog
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import NextReply, TextDifference
from mlx_engine.contract.requests import BOTH_MODES, Compare, GenerationRequest, LoadPair, Proposer
from tests.app.chats import samplings, stats, texts
from tests.app.conftest import PATIENCE_MS, Running, Start
from tests.app.pictures import document_data, landscape
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, answer, commit, done
from tests.app.scripted_engine import stats as figures


def test_compare_runs_the_last_prompt_in_both_modes_and_shows_a_verdict(start: Start) -> None:
    app = start()
    assert not app.window.top_bar.compare.isEnabled()
    app.ask("Hi")
    app.window.top_bar.compare.click()
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not app.activity.busy)
    assert [request.mode for request in app.engine.requests] == ["dflash", "plain", "dflash"]
    assert {request.seed for request in app.engine.requests[1:]} == {7}
    assert dialog.headline.text() == "DFlash is 3.9× as fast"
    assert dialog.verdict.text().startswith("Both replies are identical")
    assert dialog.sides[0].stats.chip.text() == "Plain"
    assert dialog.sides[1].stats.chip.text().startswith("DFlash")
    assert dialog.run_button.text() == "Compare"
    assert [cell.text() for cell in dialog.figures.rows[1].cells] == ["512", "38 ms", "2", "6.0", "13"], (
        "2 rounds and the first token"
    )
    dialog.close()
    app.ask("And on")


def test_the_baseline_replies_again_next_to_the_latest_contestant() -> None:
    run = CompareRun(Compare((GenerationRequest(),), repeats=2), ("Hi",), PAIR, LoadPair())
    for index, contestant in enumerate(BOTH_MODES * 2):
        run.accept(Delivery(NextReply(contestant, index, 4), 0.0))
        assert run.latest == 1


@pytest.mark.parametrize("can_see", [True, False])
def test_files_of_the_prompt_are_shown_with_what_is_not_read_of_them(start: Start, can_see: bool) -> None:
    app = start()
    assert app.loader.pair is not None
    app.loader.pair = replace(app.loader.pair, can_see=can_see)
    app.attachments.attach_data(landscape(), "lake.png")
    app.attachments.attach_data(document_data(), "report.pdf")
    app.attachments.attach_data(b"A note", "note.txt")
    app.until(lambda: not app.attachments.busy)
    app.ask("What are they?")
    app.run("compare")
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not app.activity.busy)
    assert [tile.shown.name for tile in dialog.pictures.tiles] == ["lake.png"] and dialog.pictures.isVisible()
    assert [chip.file.name for chip in dialog.files.chips] == ["report.pdf", "note.txt"] and dialog.files.isVisible()
    note = dialog.files_note
    assert note.isVisible() != can_see and ("Not read: “lake.png”, “report.pdf” (pages 2, 3)." in note.text()) != can_see
    dialog.files.chips[0].open_button.click()
    (pages,) = dialog.findChildren(PdfDialog)
    assert pages.rows.rowCount() == 3
    pages.close()
    record = app.services.comparisons.records[0]
    assert record.had_files and ComparisonRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    dialog.show_record(record)
    assert not dialog.pictures.isVisible() and not dialog.files.isVisible()
    assert note.isVisible() and note.text().startswith("This prompt had files, which comparisons don't keep.")
    dialog.prompt.setPlainText("Another one")
    assert not note.isVisible()


def test_a_comparison_can_be_exact(begin: Start) -> None:
    app = begin()
    app.ask("Hi")
    app.run("compare")
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not app.activity.busy)
    dialog.options.exact.click()
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    assert [request.exact for request in app.engine.requests] == [False, False, False, True, True]


def test_closing_the_dialog_stops_the_comparison(begin: Start) -> None:
    app = begin(ScriptedEngine([answer("Hi."), [commit("Once"), threading.Event()]]))
    app.ask("Hi")
    app.run("compare")
    app.until(lambda: app.services.compare_runner.comparison.current is not None)
    app.dialog(CompareDialog).close()
    app.until(lambda: not app.activity.busy)
    app.ask("And on")
    assert app.answer == "Fine."


def test_an_earlier_comparison_is_not_shown_during_another_one(begin: Start) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Hi."), answer("Hi."), answer("Hi."), [commit("Once"), gate, done("plain")]]))
    dialog = compared(app)
    app.until(lambda: dialog.history.list.count() == 1)
    dialog.run_button.click()
    app.until(lambda: app.services.compare_runner.comparison.current is not None)
    running = dialog.comparison
    dialog.history.list.setCurrentRow(0)
    assert dialog.comparison is running and dialog.record is None and dialog.running
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert dialog.record is running.record is not None
    app.until(lambda: dialog.history.list.count() == 2)
    dialog.history.list.setCurrentRow(1)
    assert dialog.comparison is None and dialog.record is app.services.comparisons.records[1]


def test_closing_the_window_during_a_comparison_ends_cleanly(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("Hi."), [commit("Once"), threading.Event()]]))
    app.ask("Hi")
    app.run("compare")
    app.until(lambda: app.services.compare_runner.comparison.current is not None)
    with qtbot.waitSignal(app.slipstream.ended, timeout=PATIENCE_MS):
        app.quit()
    assert app.window.dialogs.find(CompareDialog) is None
    assert app.engine.unloaded


def test_a_failed_comparison_shows_the_error(begin: Start) -> None:
    app = begin(ScriptedEngine([answer("Hi."), [UserError("gpu_failed", "The GPU failed.")]]))
    app.ask("Hi")
    app.run("compare")
    app.until(lambda: not app.activity.busy)
    assert app.dialog(CompareDialog).error.label.text() == "The GPU failed."
    app.dialog(CompareDialog).error.help.click()
    assert app.dialog(HelpDialog).page == "troubleshooting"
    assert app.dialog(CompareDialog).record is None
    app.dialog(CompareDialog).close()


def compared(app: Running) -> CompareDialog:
    """Ask a question and compare it."""
    app.ask("Hi")
    app.run("compare")
    app.until(lambda: not app.activity.busy)
    return app.dialog(CompareDialog)


def test_any_turn_can_be_compared_with_the_messages_before_it(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    for prompt in ("One", "Two", "Three"):
        app.ask(prompt)
    app.services.comparer.compare_turn(app.session.chat.turns[1])
    app.until(lambda: not app.activity.busy)
    asked = app.engine.requests[-1]
    assert [message.content for message in asked.messages] == ["One", "Fine.", "Two"]
    assert "The 2 messages before this prompt are included." in app.dialog(CompareDialog).options.hint.text()
    assert app.dialog(CompareDialog).record.before == 2
    made: list[str] = []
    monkeypatch.setattr("app.views.compare.compare_options.messages_before_prompt", lambda request: made.append("") or 2)
    for _ in range(5):
        app.dialog(CompareDialog).refresh()
    assert made == [], "the request isn't made again for each batch of events"


def test_comparing_during_a_reply_says_why_it_is_not_possible(begin: Start) -> None:
    app = begin(ScriptedEngine([answer("Fine."), [commit("Half"), threading.Event()]]))
    app.ask("One")
    app.send("Two")
    app.services.comparer.compare_turn(app.session.chat.turns[0])
    assert app.window.dialogs.find(CompareDialog) is None and "A reply is being generated" in app.notices[-1]
    app.activity.stop()
    app.until(lambda: not app.activity.busy)


def test_closing_the_window_leaves_the_reply_of_the_chat_alone(begin: Start) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([*(answer("Fine.") for _ in range(3)), [commit("Half "), gate, commit("whole."), done()]]))
    app.ask("One")
    app.run("compare")
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not app.activity.busy)
    app.send("Two")
    app.until(lambda: app.answer == "Half ")
    dialog.reject()
    gate.set()
    app.idle()
    assert app.answer == "Half whole."


def test_a_prompt_of_its_own_uses_the_settings_of_the_chat_but_not_its_messages(begin: Start) -> None:
    app = begin()
    app.ask("Before")
    app.session.set_settings(replace(app.session.chat.settings, system="Be brief.", max_tokens=33))
    app.run("compare_prompt")
    dialog = app.dialog(CompareDialog)
    assert not dialog.run_button.isEnabled() and not dialog.save_button.isEnabled()
    dialog.prompt.setPlainText("Alone")
    dialog.prompt.submitted.emit()
    app.until(lambda: not app.activity.busy)
    asked = app.engine.requests[-1]
    assert [message.content for message in asked.messages] == ["Be brief.", "Alone"] and asked.max_tokens == 33
    assert len(app.session.chat.turns) == 1, "the chat is unchanged"


def test_repeats_alternate_and_show_medians_with_ranges(begin: Start) -> None:
    rates = iter((100.0, 400.0, 500.0, 130.0, 110.0, 450.0))  # in the order of the runs
    runs: list[Script] = [[commit("Same"), done(decode_tok_s=next(rates))] for _ in range(6)]
    gate = threading.Event()
    runs[2].insert(1, gate)
    app = begin(ScriptedEngine([answer("Hi."), *runs]))
    app.ask("Hi")
    app.services.comparer.compare_turns(app.session.chat.turns[-1:], ComparisonOptions(3))
    dialog = app.dialog(CompareDialog)
    app.until(lambda: dialog.verdict.text() == "DFlash, run 2 of 3")  # as in “3 runs each”
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert [request.mode for request in app.engine.requests[1:]] == ["plain", "dflash", "dflash", "plain", "plain", "dflash"]
    assert dialog.record.repeats == 3 and dialog.verdict.text().endswith(" Median of 3 runs each.")
    assert [row.tok_s for row in dialog.record.rows] == pytest.approx([110.0, 450.0])
    assert dialog.figures.rows[0].cells[0].text() == "110  (100–130)"
    app.until(lambda: dialog.history.list.count() == 1)
    assert dialog.headline.text() == "DFlash is 4.1× as fast", "450 / 110"
    assert dialog.history.list.item(0).text().startswith("4.1× · identical")


def test_comparisons_are_listed_by_pair_shown_again_and_deleted(begin: Start, qtbot: QtBot) -> None:
    app = begin()
    dialog = compared(app)
    dialog.close()
    app.services.comparisons.add(replace(dialog.record, id="other", pair="Another pair", prompt="Elsewhere"))
    app.run("compare_prompt")
    dialog = app.dialog(CompareDialog)
    place = dialog.history_button.mapToGlobal(QPoint())
    dialog.history_button.click()
    history = dialog.history
    app.until(lambda: history.list.count() == 2)
    assert dialog.history_button.mapToGlobal(QPoint()) == place, "a second click hides the list"
    history.pairs.setCurrentText("Another pair")
    assert history.list.count() == 1
    history.list.setCurrentRow(0)
    assert dialog.prompt.toPlainText() == "Elsewhere" and dialog.headline.text() == "DFlash is 3.9× as fast"
    assert dialog.record.pair == "Another pair" and dialog.save_button.isEnabled()
    qtbot.keyClick(history.list, Qt.Key.Key_Backspace)
    app.until(lambda: len(app.services.comparisons.records) == 1)
    app.services.comparisons.read()
    app.until(lambda: [one.pair for one in app.services.comparisons.records] == [PAIR.name])


def with_verdict(record: ComparisonRecord, verdict: str, at: int = 0, margin: float | None = None) -> ComparisonRecord:
    difference = None if verdict == "identical" else TextDifference(at, margin, verdict == "tie")
    return replace(record, rows=(record.rows[0], replace(record.rows[1], difference=difference)))


def test_a_comparison_in_the_history_shows_its_date_and_prompt(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    dialog = compared(app)
    dialog.history_button.click()
    history = dialog.history
    app.until(lambda: history.list.count() == 1)
    drawn: list[str] = []
    monkeypatch.setattr(QPainter, "drawText", lambda painter, area, flags, text: drawn.append(text))
    short, long = "How many divisors does 84 have?", "Write a story. " * 20
    created = datetime(2026, 11, 23, 22, 49)
    for prompt in (short, long):
        for verdict in get_args(ComparisonVerdict):
            record = with_verdict(replace(dialog.record, prompt=prompt, created=created.timestamp()), verdict)
            monkeypatch.setattr(app.services.comparisons, "records", (record,))
            app.services.comparisons.changed.emit()
            drawn.clear()
            history.list.grab()
            date, result, text = drawn
            assert (result, date) == (f"3.9× · {verdict}", short_date(created.timestamp()))
            assert text == short if prompt is short else text.startswith("Write a story. Write") and text.endswith("…")
            assert history.list.sizeHintForRow(0) >= 2 * history.list.fontMetrics().height()
            said = history.list.item(0).data(Qt.ItemDataRole.AccessibleTextRole)
            assert said.startswith(f"3.9× · {verdict}, {date_and_time(created.timestamp())}, {prompt[:20]}")


def test_results_and_image_are_saved_or_the_error_is_shown(begin: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    dialog = compared(app)
    asked = {"json": tmp_path / "figures", "png": tmp_path / "picture"}
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda parent, title, name, kinds: (str(asked[name.rsplit(".", 1)[1]]), kinds)
    )
    dialog.save_button.click()
    app.until(lambda: (tmp_path / "figures.json").exists())
    assert ComparisonRecord.from_json(json.loads((tmp_path / "figures.json").read_text())) == dialog.record
    dialog.image_button.click()
    app.until(lambda: (tmp_path / "picture.png").exists())
    picture = QImage(str(tmp_path / "picture.png"))
    assert (picture.width(), picture.height()) == (WIDTH, HEIGHT)
    dialog.copy_button.click()
    assert not QGuiApplication.clipboard().image().isNull()
    asked["json"] = tmp_path / "nowhere" / "figures.json"
    dialog.save_button.click()
    app.until(lambda: "Can't write to" in dialog.status.text())


def test_a_message_sent_during_a_comparison_stays_in_the_composer(begin: Start) -> None:
    app = begin(ScriptedEngine([answer("Hi."), [commit("Once"), threading.Event()]]))
    app.ask("Hi")
    app.run("compare")
    app.until(lambda: app.services.compare_runner.comparison.current is not None)
    app.send("Now?")
    assert app.message.text == "Now?" and app.message.note and app.notices == []
    app.message.cancel()
    app.dialog(CompareDialog).close()
    app.until(lambda: not app.activity.busy)


def test_text_of_a_table_can_be_selected(begin: Start) -> None:
    table = "| a | b |\n|---|---|\n| cell | 2 |"
    app = begin(ScriptedEngine([answer("Hi."), answer(table, "plain"), answer(table)]))
    dialog = compared(app)
    (chunk,) = (one for one in dialog.sides[0].blocks.findChildren(TableChunk))
    chunk.selectAll()
    chunk.copy()
    assert "cell" in QGuiApplication.clipboard().text()
    assert chunk.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse


@pytest.mark.parametrize(
    "prompt", ["a\0b \ud83d <b>x</b> '; DROP TABLE comparison; --", "\u202e\u05e9 e\u0301 " * 30, "x" * 1_000_000]
)
def test_any_prompt_is_compared_stored_and_drawn(begin: Start, prompt: str) -> None:
    app = begin()
    app.services.comparer.compare_prompt(prompt)
    app.until(lambda: not app.activity.busy)
    dialog = app.dialog(CompareDialog)
    assert app.engine.requests[-1].messages[-1].content == clean(prompt).strip() == dialog.record.prompt
    assert not card(app.theme, dialog.record).isNull()
    app.services.comparisons.read()
    app.until(lambda: [one.prompt for one in app.services.comparisons.records] == [clean(prompt).strip()])


# Records

rates = st.floats(0, 1e6)
replies = st.builds(ComparedReply, texts, texts, st.sampled_from(["eos", "length", "stop_string"]), stats)
differences = st.builds(TextDifference, st.integers(0, 999), st.none() | st.floats(0, 10), st.booleans(), st.integers(0, 9))
rows = st.builds(
    ComparisonRow,
    st.sampled_from(get_args(Proposer)), texts, texts, texts, st.integers(0, 1 << 40),
    st.one_of(st.none(), rates), st.one_of(st.none(), rates), st.integers(0, 99), st.one_of(st.none(), rates), st.integers(0, 999),
    st.lists(rates, max_size=3).map(tuple), st.integers(0, 9), st.integers(0, 9), st.one_of(st.none(), differences),
    st.one_of(st.none(), st.builds(EngineText, st.just(""), texts.filter(bool))),
)  # fmt: skip
records = st.builds(
    ComparisonRecord,
    texts, texts, texts, texts,
    st.integers(0, 99), samplings, st.integers(0, 2**64 - 1), st.integers(1, 9999), st.booleans(), st.integers(1, 9),
    st.tuples(rows, rows), st.tuples(replies, replies),
    id=texts.filter(bool), created=st.floats(0, 4e9),
)  # fmt: skip


@given(records)
def test_a_record_survives_storage_unchanged(record: ComparisonRecord) -> None:
    assert ComparisonRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    store = Store(None)
    store.save_comparison(record)
    assert store.comparisons() == (record,)
    store.delete_comparison(record.id)
    assert store.comparisons() == ()
    store.close()


@given(records, st.data())
def test_a_field_of_another_type_does_not_hide_the_record(record: ComparisonRecord, data: st.DataObject) -> None:
    stored = json.loads(json.dumps(record.to_json()))
    spot = data.draw(st.sampled_from([stored, stored["rows"][0], stored["replies"][0]["stats"], stored["sampling"]]))
    key = data.draw(st.sampled_from(sorted(spot.keys() - {"format", "version", "rows", "replies", "shown"})))
    spot[key] = data.draw(st.sampled_from([None, -1, True, "x", [], {}, [{}], 10**400]))
    read = ComparisonRecord.from_json(stored)
    assert read is not None
    assert read.replies[1].text == record.replies[1].text and (key == "pair" or read.pair == record.pair)
    assert verdict_on(read) and ComparisonRecord.from_json(json.loads(json.dumps(read.to_json()))) == read


@given(st.recursive(st.one_of(st.none(), st.integers(), st.text(max_size=5)), lambda inner: st.dictionaries(
    st.sampled_from(["format", "version", "rows", "replies", "plain", "dflash", "stats"]), inner), max_leaves=6))  # fmt: skip
def test_invalid_records_are_read_as_none(data: object) -> None:
    assert ComparisonRecord.from_json(data) is None


@pytest.mark.parametrize(("engines", "verdict"), [([], "tie"), (["Here", "Server"], "different")])
def test_a_record_of_version_1_shows_what_it_did(engines: list[str], verdict: str) -> None:
    sides = {
        mode: {"text": mode, "thinking": "", "reason": "eos", "stats": asdict(figures(mode)), "tok_s": rates, "ttft_s": [0.1]}
        for mode, rates in (("plain", [100.0, 120.0]), ("dflash", [300.0, 360.0]))
    }
    stored = {
        "format": "slipstream-comparison",
        "version": 1,
        "pair": "A",
        "target": "t",
        "drafter": "d",
        "prompt": "Hi",
        "id": "x",
    }
    differs = {"first_difference": 4, "margin": 0.5, "verdict": verdict, "ratio": 3.0, "in_characters": bool(engines)}
    record = ComparisonRecord.from_json(stored | sides | differs | {"engines": engines, "repeats": 2})
    assert record is not None and (record.verdict, record.ratio, record.repeats) == (verdict, 3.0, 2)
    assert [reply.text for reply in record.replies] == ["plain", "dflash"] and record.rows[0].rates == (100.0, 120.0)
    headline, text = verdict_on(record)
    assert headline == ("Server is 3.0× as fast" if engines else "DFlash is 3.0× as fast")
    assert text.startswith(f"The replies differ starting at {'character' if engines else 'token'} 5")


@pytest.mark.parametrize("verdict", ["identical", "tie", "different"])
def test_the_image_fits_the_longest_texts(begin: Start, verdict: str) -> None:
    """The margin stays empty."""
    app = begin()
    long = replace(
        with_verdict(compared(app).record, verdict, 123_456, 0.000123),
        pair="A pair with a very long name " * 8,
        prompt="\u05e9\u05dc\u05d5\u05dd word " * 400,
        seed=2**64 - 1,
        repeats=9,
    )
    image = card(app.theme, long)
    ground = image.pixel(WIDTH - 5, 5)
    edge = [image.pixel(x, y) for x in range(WIDTH - 40, WIDTH, 4) for y in range(0, HEIGHT, 3)]
    edge += [image.pixel(x, HEIGHT - 10) for x in range(60, WIDTH, 5)]
    assert set(edge) == {ground}


def test_the_result_is_above_the_replies_and_explains_itself(begin: Start) -> None:
    """Short replies leave room at the end of the window, not in the middle."""
    app = begin()
    app.ask("Hi")
    app.run("compare")
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not app.activity.busy and dialog.figures.height() > 0)
    shown = (dialog.headline, dialog.verdict, dialog.figures, dialog.sides[0])
    tops = [view.mapTo(dialog, view.rect().topLeft()).y() for view in shown]
    assert tops == sorted(tops)
    assert "tokens per second" in dialog.verdict.text() and "identical text" in dialog.options.exact.text()


def test_the_prompts_text_keeps_off_the_border_and_the_controls_stand_in_line(begin: Start) -> None:
    app = begin()
    app.window.dialogs.show_compare()
    dialog = app.dialog(CompareDialog)
    app.until(lambda: dialog.isVisible() and dialog.options.exact.height() > 0)
    assert dialog.prompt.document().documentMargin() >= 8
    centers = {control.geometry().center().y() for control in (dialog.repeats, dialog.run_button)}
    assert max(centers) - min(centers) <= 1
