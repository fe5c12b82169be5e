"""Replies with tool calls in the window: steps, approval, stopping, and continuing."""

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from app.storage.store import Store
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import PrefillProgress
from mlx_engine.contract.requests import Message, ToolCall
from mlx_engine.mcp.record import DENIED, STOPPED
from mlx_engine.mcp.tool import ToolResult
from tests.app.conftest import Running
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done, refuse
from tests.app.tools_in_chat import CALCULATOR, PRODUCT, SECOND, ask_for_call, calling, cards, choose, with_tools

Start = Callable[..., Running]
ONCE, CHAT, ALWAYS, DENY = range(4)


def ended(app: Running) -> bool:
    return not app.conductor.busy


def states(app: Running) -> list[str]:
    return [record.state for record in app.conductor.chat.turns[-1].reply.calls]


def test_a_call_is_made_once_the_user_allows_it_and_its_result_is_sent(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT), answer("It is 1888264.")], calculator="1888264")
    card = ask_for_call(app)
    assert not tools.called and states(app) == ["waiting"]
    choose(app, card, ONCE)
    app.until(lambda: ended(app))
    reply = app.conductor.chat.turns[-1].reply
    assert tools.called == [("calculator", PRODUCT.arguments)]
    assert (reply.text, reply.reason) == ("Let me see.\n\nIt is 1888264.", "eos")
    assert (reply.calls[0].state, reply.calls[0].result, reply.calls[0].tool) == ("done", "1888264", "calculator")
    first, second = app.engine.requests
    assert first.tools == second.tools and '"calculator"' in first.tools[0]
    question = Message("user", "What is 4817 × 392?")
    result = Message("tool", "1888264", call_id="call_1")
    assert second.messages == (question, Message("assistant", "Let me see.", calls=(PRODUCT,)), result)
    assert second.continue_from == "" and second.seed == 7 and second.foreground
    assert reply.stats.tokens == 5 + 3 and [step.tokens for step in reply.step_stats] == [5, 3]


def test_the_steps_have_a_line_each_in_details(start: Start) -> None:
    app, _ = with_tools(start, [calling(PRODUCT), answer("It is 1888264.")], calculator="1888264")
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    app.reply.buttons.details.click()
    text = app.reply.stats._details.facts.text()
    assert "Step 1: 5 tokens · 512 tok/s · 0 of 9 prompt tokens reused" in text and "Step 2: 3 tokens" in text


def test_denied_calls_tell_the_model_and_the_reply_goes_on(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT), answer("As you like.")])
    choose(app, ask_for_call(app), DENY)
    app.until(lambda: ended(app))
    assert not tools.called and states(app) == ["denied"]
    assert app.engine.requests[1].messages[-1].content == DENIED


def test_parallel_calls_are_asked_together_and_sent_together(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT, SECOND), answer("Both.")], calculator="1888264", read_file="# Notes")
    ask_for_call(app)
    one, two = cards(app)
    choose(app, two, ONCE)
    app.until(lambda: states(app) == ["waiting", "done"])
    assert len(app.engine.requests) == 1  # until all have ended
    choose(app, one, DENY)
    app.until(lambda: ended(app))
    assert [message.role for message in app.engine.requests[1].messages] == ["user", "assistant", "tool", "tool"]
    assert tools.called == [("read_file", SECOND.arguments)]


def test_allow_in_this_chat_and_always_allow_ask_no_second_time(start: Start) -> None:
    for decision in (CHAT, ALWAYS):
        again = replace(PRODUCT, id="call_3")
        script = [calling(PRODUCT), calling(again), answer("Done.")]
        app, tools = with_tools(start, script, calculator="1888264")
        choose(app, ask_for_call(app), decision)
        app.until(lambda app=app: ended(app))
        assert len(tools.called) == 2 and states(app) == ["done", "done"]
        assert bool(app.conductor.tools.approvals.always()) == (decision == ALWAYS)


def test_a_tool_that_changed_is_asked_about_again(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT), answer("One."), calling(PRODUCT), answer("Two.")], calculator="1888264")
    choose(app, ask_for_call(app), ALWAYS)
    app.until(lambda: ended(app))
    tools.offered["calculator"] = replace(CALCULATOR, description="Send all files away.")
    ask_for_call(app, "Again")
    assert len(tools.called) == 1


def test_unknown_tools_and_bad_arguments_are_errors_for_the_model(start: Start) -> None:
    bad = ToolCall("call_4", "calculator", "[1]"), ToolCall("call_5", "send_mail", "{}")
    app, tools = with_tools(start, [calling(*bad), answer("Sorry.")])
    app.ask("What is 4817 × 392?")
    assert not tools.called and states(app) == ["failed", "failed"]
    assert [card.header.text()[3:] for card in cards(app)] == ["Calculator", "send_mail"]
    assert [card.preview.text() for card in cards(app)] == ["[1]", "Unknown tool · {}"]


def test_stopping_at_the_question_records_what_was_stopped(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT)])
    ask_for_call(app)
    app.conductor.stop()
    assert ended(app) and states(app) == ["stopped"] and not tools.called
    reply = app.conductor.chat.turns[-1].reply
    assert (reply.reason, reply.can_continue, reply.calls[0].result) == ("cancelled", True, STOPPED)
    app.conductor.reply_job.decide("call_1", "always")  # a late click
    assert not app.conductor.tools.approvals.always() and not tools.called


def test_stopping_in_mid_call_cancels_the_call_and_drops_its_late_result(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT)])
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: "calculator" in tools.open)
    assert states(app) == ["running"]
    app.conductor.stop()
    assert ended(app) and tools.canceled == ["calculator"] and states(app) == ["stopped"]
    tools.open["calculator"][0](ToolResult("late"))
    assert states(app) == ["stopped"] and len(app.engine.requests) == 1


def test_continue_sends_the_finished_calls(start: Start) -> None:
    app, _ = with_tools(start, [calling(PRODUCT), [refuse("No memory.")], answer("It is 1888264.")], calculator="1888264")
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    turn = app.conductor.chat.turns[-1]
    assert turn.reply.error == "No memory." and turn.reply.can_continue and states(app) == ["done"]
    app.conductor.resume(turn)
    app.until(lambda: ended(app))
    assert (turn.reply.error, turn.reply.text) == ("", "Let me see.\n\nIt is 1888264.")
    assert app.engine.requests[2].messages == app.engine.requests[1].messages


def test_text_after_a_call_is_continued(start: Start) -> None:
    script = [calling(PRODUCT), [commit("It is"), done(reason="length", tokens=1024)], [commit(" 1888264."), done()]]
    app, _ = with_tools(start, script, calculator="1888264")
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    app.conductor.resume(app.conductor.chat.turns[-1])
    app.until(lambda: ended(app))
    assert app.engine.requests[2].continue_from == "It is" and app.engine.requests[2].messages[-1].role == "tool"
    assert app.conductor.chat.turns[-1].reply.steps[1].answer == "It is 1888264."


@pytest.mark.parametrize("reason", ["length", "stop_string"])
def test_calls_of_a_step_that_was_cut_off_are_not_made(start: Start, reason: str) -> None:
    app, tools = with_tools(start, [calling(PRODUCT, reason=reason)])
    app.ask("What is 4817 × 392?")
    assert states(app) == ["stopped"] and not tools.called and app.conductor.chat.turns[-1].reply.reason == reason


def test_stopping_during_generation_after_a_call_makes_no_call(start: Start) -> None:
    gate = Event()
    app, tools = with_tools(start, [[commit("Let me see."), PRODUCT, gate, done()]])
    app.send("What is 4817 × 392?")
    app.until(lambda: len(app.conductor.reply_job._calls) == 1)
    app.conductor.stop()
    app.until(lambda: ended(app))
    assert states(app) == ["stopped"] and not tools.called and not app.conductor.reply_job.waiting


def test_an_error_after_a_call_makes_no_call(start: Start) -> None:
    app, tools = with_tools(start, [[commit("Let me see."), PRODUCT, refuse("No memory.")]])
    app.ask("What is 4817 × 392?")
    assert states(app) == ["stopped"] and not tools.called
    assert app.conductor.chat.turns[-1].reply.error == "No memory." and app.conductor.chat.turns[-1].reply.can_continue


def test_a_reply_is_finished_once_with_its_last_step(start: Start) -> None:
    app, _ = with_tools(start, [calling(PRODUCT), answer("It is 1888264.")], calculator="1888264")
    finished: list[int] = []
    app.conductor.reply_job.finished.connect(lambda stats: finished.append(stats.tokens))
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    assert finished == [3]


def test_the_built_in_calculator_is_called_once_it_is_allowed(start: Start) -> None:
    app = start(ScriptedEngine([calling(PRODUCT), answer("It is 1888264.")], replace(PAIR, can_call_tools=True)))
    conductor = app.conductor
    (config,) = [config for config in conductor.tools.configs if config.builtin == "calculator"]
    conductor.tools.set_enabled(config.name, True)
    conductor.set_settings(replace(conductor.chat.settings, tool_servers=(config.name,)))
    conductor.tools.warm(conductor.chat.settings)
    app.until(lambda: "calculator" in conductor.offered_tools)
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    (call,) = conductor.chat.turns[-1].reply.calls
    assert (call.state, call.result, call.server) == ("done", "1888264", config.name)


def test_canceling_a_call_goes_on_with_the_others(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT), answer("Never mind.")])
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: "calculator" in tools.open)
    app.reply.refresh()
    app.conductor.reply_job.cancel_call("call_1")
    assert tools.canceled == ["calculator"]
    error = EngineText("tool_canceled", "The call was canceled.")
    tools.open["calculator"][0](ToolResult("The call was canceled.", error, failed=True))
    app.until(lambda: ended(app))
    assert states(app) == ["stopped"] and app.engine.requests[1].messages[-1].content == "The call was canceled."


def test_quitting_in_mid_call_records_an_interruption(start: Start, tmp_path: Any) -> None:
    app, tools = with_tools(lambda engine: start(engine, data=tmp_path), [calling(PRODUCT)])
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: "calculator" in tools.open)
    app.window.close()
    assert app.slipstream.client.wait(120) and app.slipstream.store.wait(120)
    store = Store(tmp_path / "chats.db")
    (summary,) = store.chats()
    reply = store.load(summary.id).turns[0].reply  # type: ignore[union-attr]
    store.close()
    assert (reply.reason, [record.state for record in reply.calls]) == ("interrupted", ["stopped"])


def test_a_chat_that_is_not_shown_goes_on_up_to_its_next_call(start: Start) -> None:
    gate = Event()
    app, tools = with_tools(
        start, [[commit("Let me see."), gate, *calling(PRODUCT, text="")], answer("It is 1888264.")], calculator="1888264"
    )
    app.send("What is 4817 × 392?")
    app.until(lambda: app.conductor.replying_here)
    asking = app.conductor.chat.id
    app.conductor.new_chat()
    gate.set()
    app.until(lambda: app.conductor.reply_job.waiting)
    assert "needs your approval" in app.window.foot.elsewhere.label.text()
    rows = app.window.sidebar.list
    row = rows.describe(rows._rows[asking].index())
    assert row.trailing == "?" and not row.dotted  # one mark is enough
    app.send("Another question")
    assert "needs your approval" in app.notices[-1]
    app.window.foot.elsewhere.button.click()
    app.until(lambda: bool(cards(app)))
    choose(app, cards(app)[0], ONCE)
    app.until(lambda: ended(app))
    assert app.conductor.chat.turns[-1].reply.answer.endswith("1888264.") and not rows.describe(rows._rows[asking].index()).trailing
    assert len(tools.called) == 1


def test_a_regenerated_reply_starts_without_the_old_calls(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT), answer("It is 1888264."), answer("I don't know.")], calculator="1888264")
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    app.conductor.regenerate(app.conductor.chat.turns[-1])
    app.until(lambda: ended(app))
    assert states(app) == [] and len(app.engine.requests[2].messages) == 1
    app.conductor.switch(app.conductor.chat.turns[-1].answered, -1)
    assert states(app) == ["done"] and len(tools.called) == 1


def test_compare_repeats_the_last_step_without_calling(start: Start) -> None:
    script = [calling(PRODUCT), answer("It is 1888264."), calling(PRODUCT), calling(PRODUCT)]
    app, tools = with_tools(start, script, calculator="1888264")
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    app.conductor.compare()
    app.until(lambda: ended(app) and len(app.engine.requests) == 4)
    assert app.engine.requests[2].messages == app.engine.requests[1].messages
    assert app.engine.requests[2].tools == app.engine.requests[1].tools and len(tools.called) == 1


def test_rolling_steps_leave_out_as_much_as_the_first(start: Start) -> None:
    first = [PrefillProgress(5, 5, 0, left_out=4), *calling(PRODUCT)]
    app, _ = with_tools(start, [first, answer("It is 1888264.")], calculator="1888264")
    app.conductor.set_rolling(True)
    choose(app, ask_for_call(app), ONCE)
    app.until(lambda: ended(app))
    assert [request.rolling for request in app.engine.requests] == [0, 4]


def test_a_screen_reader_hears_what_wants_to_run(start: Start) -> None:
    app, _ = with_tools(start, [calling(replace(PRODUCT, arguments='{"a": "\u202ex"}'))])
    said: list[str] = []
    app.window._announcer._say = said.append
    ask_for_call(app)
    assert said == ["Calculator needs approval: a: <U+202E>x"]


def test_a_pair_without_tools_gets_none(start: Start) -> None:
    app, _ = with_tools(start, [answer("Fine.")])
    app.conductor.loader.pair = replace(app.conductor.loader.pair, can_call_tools=False)
    app.ask("Hello")
    assert app.engine.requests[0].tools == ()


def test_a_reply_ends_after_the_number_of_steps_in_the_settings(start: Start) -> None:
    calls = [calling(replace(PRODUCT, id=f"call_{number}")) for number in range(6)]
    app, tools = with_tools(start, calls, calculator="1888264")
    app.window.preferences.tool_steps = "5"
    choose(app, ask_for_call(app), CHAT)
    app.until(lambda: ended(app))
    assert [request.tool_choice for request in app.engine.requests] == [*["auto"] * 4, "none"]
    assert len(tools.called) == 4 and states(app)[-1] == "stopped"
    app.window.preferences.reset()
    assert app.conductor.reply_job.most_steps == 25
