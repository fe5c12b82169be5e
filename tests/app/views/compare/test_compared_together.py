"""Comparisons whose two replies come at the same time: the option, what is shown of them, and what isn't compared."""

import json
import threading
from dataclasses import replace

import pytest

from app.session.compare_run import CompareRun
from app.session.engine_adapter import Delivery
from app.storage.comparison_record import ComparisonRecord, verdict_on
from app.views.compare.compare_view import CompareDialog
from app.views.compare.comparison_card import card
from app.widgets.controls import ThinBar
from mlx_engine.contract.events import ContestantEvent, Event, NextReply
from mlx_engine.contract.requests import BOTH_MODES, Compare, GenerationRequest, LoadPair
from tests.app.conftest import Running, Start
from tests.app.pictures import landscape
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, answer, commit, done, refuse
from tests.app.views.compare.test_all_drafters import Places, folders, loaded  # noqa: F401

SHARED = "The replies were computed together, so their speeds can't be compared."


def shared(text: str, mode: str = "dflash") -> Script:
    """A reply, half of whose passes another one shared."""
    *parts, end = answer(text, mode)  # type: ignore[arg-type]
    return [*parts, replace(end, stats=replace(end.stats, passes=3.0, own_passes=4))]  # type: ignore[type-var, union-attr]


def opened(app: Running) -> CompareDialog:
    """The window, with the option on."""
    app.window.dialogs.show_compare()
    dialog = app.dialog(CompareDialog)
    assert not dialog.options.together.isChecked()
    dialog.options.together.click()
    dialog.prompt.setPlainText("Both?")
    return dialog


def shown(dialog: CompareDialog) -> list[str]:
    """All that the window says about the result."""
    cells = [cell.text() for row in dialog.figures.rows for cell in row.cells]
    return [dialog.headline.text(), dialog.verdict.text(), dialog.options.hint.text(), *cells]


def test_both_modes_reply_at_the_same_time_and_no_ratio_is_shown(begin: Start) -> None:
    gates = threading.Event(), threading.Event()
    texts = [[commit("Fine"), gate, *shared(" indeed.", mode)] for gate, mode in zip(gates, ("plain", "dflash"), strict=True)]
    app = begin(ScriptedEngine(texts))
    dialog = opened(app)
    assert dialog.options.hint.text().startswith("Both modes reply at the same time")
    dialog.run_button.click()
    app.until(lambda: [side.shown[1] for side in dialog.sides] == ["Fine", "Fine"])
    assert dialog.verdict.text() == "Both modes at the same time, run 1 of 1"
    gates[1].set()
    app.until(lambda: dialog.sides[1].shown[1] == "Fine indeed." and dialog.sides[0].shown[1] == "Fine")
    gates[0].set()
    app.until(lambda: not app.activity.busy)
    assert [request.mode for request in app.engine.requests] == ["plain", "dflash"]
    assert dialog.headline.text() == "Both replied at the same time"
    assert dialog.verdict.text() == f"Both replies are identical, token for token (2 tokens). {SHARED}"
    assert "×" not in "".join(shown(dialog)) and dialog.figures.rows[1].cells[0].text() == "512", "each one's own speed"
    assert dialog.figures.findChildren(ThinBar) == [], "no bars compare the speeds"
    app.until(lambda: dialog.history.list.count() == 1)
    assert dialog.history.list.item(0).text() == "Together · identical"


def test_the_record_keeps_that_speeds_cannot_be_compared(begin: Start) -> None:
    app = begin(ScriptedEngine([shared("Yes indeed.", "plain"), shared("Not so at all."), *[answer("Hi there.")] * 2]))
    dialog = opened(app)
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    record = dialog.record
    assert record.together and record.ratio is None and record.fastest is None and record.verdict == "different"
    assert ComparisonRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert not card(app.theme, record).isNull()
    dialog.options.together.click()
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    assert dialog.headline.text() == "DFlash is 3.9× as fast" and len(dialog.figures.findChildren(ThinBar)) == 2
    dialog.show_record(record)
    assert dialog.headline.text() == "Both replied at the same time" and dialog.verdict.text().endswith(SHARED)
    assert dialog.figures.findChildren(ThinBar) == []
    plain, drafted = (replace(one, stats=replace(one.stats, passes=4.0)) for one in record.replies)
    headline, verdict = verdict_on(replace(record, replies=(plain, drafted)))
    assert headline == "Both replied in turns" and "took turns" in verdict


def test_repeats_alternate_and_are_counted_as_runs_of_both(begin: Start) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Hi."), answer("Hi."), [commit("Hi."), gate, done()], *[answer("Hi.")] * 3]))
    dialog = opened(app)
    dialog.repeats.setCurrentIndex(1)
    dialog.run_button.click()
    app.until(lambda: dialog.verdict.text() == "Both modes at the same time, run 2 of 3")
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert [request.mode for request in app.engine.requests] == ["plain", "dflash", "dflash", "plain", "plain", "dflash"]
    assert dialog.record.repeats == 3 and [len(row.rates) for row in dialog.record.rows] == [3, 3]


def test_stop_and_close_end_both_replies(begin: Start) -> None:
    def waiting() -> Script:
        return [commit("Once"), threading.Event()]

    app = begin(ScriptedEngine([waiting(), waiting(), waiting(), waiting()]))
    dialog = opened(app)
    for end in (dialog.run_button.click, dialog.close):
        dialog.run_button.click()
        app.until(lambda: [side.shown[1] for side in dialog.sides] == ["Once", "Once"])
        end()
        app.until(lambda: not app.activity.busy)
        if end != dialog.close:
            assert dialog.record is None and dialog.headline.text() == "Stopped"
    assert app.engine.closed_early == 4 and app.services.comparisons.records == ()


@pytest.mark.parametrize("failing", [0, 1])
def test_the_failure_of_one_side_ends_the_other_and_is_shown(begin: Start, failing: int) -> None:
    scripts: list[Script] = [[commit("Once"), threading.Event()]] * 2
    scripts[failing] = [commit("Twice"), refuse("The memory ran out.")]
    app = begin(ScriptedEngine(scripts))
    dialog = opened(app)
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    assert dialog.error.label.text() == "The memory ran out." and dialog.headline.text() == "Comparison failed"
    assert dialog.record is None and dialog.sides[failing].shown[1] == "Twice"
    app.ask("And on")
    assert app.answer == "Fine."


def test_images_and_the_messages_before_are_sent_to_both(begin: Start) -> None:
    app = begin()
    app.loader.pair = replace(app.loader.pair, can_see=True)
    app.ask("Before")
    app.attachments.attach_data(landscape(), "lake.png")
    app.until(lambda: not app.attachments.busy)
    app.ask("What is it?")
    app.run("compare")
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not app.activity.busy)
    dialog.options.together.click()
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    assert dialog.record.together and dialog.record.had_files and dialog.record.before == 2
    plain, drafted = app.engine.requests[-2:]
    assert plain == replace(drafted, mode="plain") and [len(one.images) for one in plain.messages] == [0, 0, 1]


def test_servers_and_several_drafters_are_compared_one_after_the_other(
    begin: Start,
    folders: Places,  # noqa: F811
) -> None:
    app = begin()
    target, first, _ = folders
    loaded(app, LoadPair(target, first))
    dialog = opened(app)
    app.until(lambda: not dialog.options.all_drafters.isHidden())
    dialog.options.all_drafters.click()
    assert not dialog.options.together.isEnabled() and not dialog.options.together.isChecked()
    assert "Drafters are loaded one after the other" in dialog.options.together.toolTip()
    dialog.options.all_drafters.click()
    assert dialog.options.together.isEnabled()
    app.loader.pair = replace(PAIR, remote="server:8080")
    app.loader.changed.emit()
    assert not dialog.options.together.isEnabled() and "one after the other" in dialog.options.together.toolTip()


def test_events_go_to_the_contestant_that_they_name() -> None:
    run = CompareRun(Compare((GenerationRequest(),), together=True), ("Hi",), PAIR, LoadPair())
    plain, drafter = BOTH_MODES
    parts = [(plain, "a"), (drafter, "1"), (drafter, "2"), (plain, "b"), (drafter, "3")]
    events: list[Event] = [NextReply(plain, 0, 2), NextReply(drafter, 1, 2)]
    events += [ContestantEvent(contestant, commit(text)) for contestant, text in parts]
    for event in events:
        run.accept(Delivery(event, 0.0))
    assert [reply.answer for reply in run.replies if reply] == ["ab", "123"]
