"""Replies with tool calls: steps, approval, stopping, and continuing."""

from dataclasses import replace
from threading import Event
from typing import Any, get_args

import pytest

from app.storage.store import Store
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import PrefillProgress
from mlx_engine.contract.requests import Message, ToolCall
from mlx_engine.mcp.approvals import Decision
from mlx_engine.mcp.record import DENIED, STOPPED
from mlx_engine.mcp.tool import ToolResult
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done, refuse
from tests.app.tools_in_chat import CALCULATOR, PRODUCT, SECOND, ask_for_call, calling, decide, with_tools


def ended(app: Session) -> bool:
    return not app.activity.busy


def states(app: Session) -> list[str]:
    return [record.state for record in app.session.chat.turns[-1].reply.calls]


def test_a_call_is_made_once_the_user_allows_it_and_its_result_is_sent(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), answer("It is 1888264.")], calculator="1888264")
    ask_for_call(app)
    assert not tools.called and states(app) == ["waiting"]
    decide(app, "once")
    app.idle()
    reply = app.session.chat.turns[-1].reply
    assert tools.called == [("calculator", PRODUCT.arguments)]
    assert (reply.text, reply.reason) == ("Let me see.\n\nIt is 1888264.", "eos")
    assert (reply.calls[0].state, reply.calls[0].result, reply.calls[0].tool) == ("done", "1888264", "calculator")
    first, second = app.engine.requests
    assert first.tools == second.tools and first.tools[0].name == "calculator"
    question = Message("user", "What is 4817 × 392?")
    result = Message("tool", "1888264", call_id="call_1")
    assert second.messages == (question, Message("assistant", "Let me see.", calls=(PRODUCT,)), result)
    assert second.continue_from == "" and second.seed == 7 and second.foreground
    assert reply.stats.tokens == 5 + 3 and [step.tokens for step in reply.step_stats] == [5, 3]


def test_denied_calls_tell_the_model_and_the_reply_goes_on(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), answer("As you like.")])
    ask_for_call(app)
    decide(app, "deny")
    app.idle()
    assert not tools.called and states(app) == ["denied"]
    assert app.engine.requests[1].messages[-1].content == DENIED


def test_parallel_calls_are_asked_together_and_sent_together(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT, SECOND), answer("Both.")], calculator="1888264", read_file="# Notes")
    ask_for_call(app)
    decide(app, "once", SECOND.id)
    app.until(lambda: states(app) == ["waiting", "done"])
    assert len(app.engine.requests) == 1  # until all have ended
    decide(app, "deny")
    app.idle()
    assert [message.role for message in app.engine.requests[1].messages] == ["user", "assistant", "tool", "tool"]
    assert tools.called == [("read_file", SECOND.arguments)]


def test_allow_in_this_chat_and_always_allow_ask_no_second_time(begin: Begin) -> None:
    for decision in get_args(Decision)[1:3]:
        again = replace(PRODUCT, id="call_3")
        script = [calling(PRODUCT), calling(again), answer("Done.")]
        app, tools = with_tools(begin, script, calculator="1888264")
        ask_for_call(app)
        decide(app, decision)
        app.idle()
        assert len(tools.called) == 2 and states(app) == ["done", "done"]
        assert bool(app.tools.approvals.always()) == (decision == "always")


def test_a_tool_that_changed_is_asked_about_again(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), answer("One."), calling(PRODUCT), answer("Two.")], calculator="1888264")
    ask_for_call(app)
    decide(app, "always")
    app.idle()
    tools.offered["calculator"] = replace(CALCULATOR, description="Send all files away.")
    assert not app.session.chat.turns[-1].reply.calls[0].changed
    ask_for_call(app, "Again")
    assert len(tools.called) == 1
    assert app.session.chat.turns[-1].reply.calls[0].changed


def test_the_progress_of_a_call_is_known_until_its_result_arrives(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), answer("Done.")])
    ask_for_call(app)
    decide(app, "once")
    app.until(lambda: "calculator" in tools.open)
    end, report = tools.open["calculator"]
    for text in ("Row 1 of 2", "Row 2 of 2"):
        report(text)
        assert app.reply.progress == {PRODUCT.id: text}
    end(ToolResult("1888264"))
    report("late")
    assert not app.reply.progress
    app.idle()


def test_stopping_at_the_question_records_what_was_stopped(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT)])
    ask_for_call(app)
    app.activity.stop()
    assert ended(app) and states(app) == ["stopped"] and not tools.called
    reply = app.session.chat.turns[-1].reply
    assert (reply.reason, reply.can_continue, reply.calls[0].result) == ("cancelled", True, STOPPED)
    app.reply_runner.decide(app.session.chat.turns[-1], "call_1", "always")  # a late click
    assert not app.tools.approvals.always() and not tools.called


def test_stopping_in_mid_call_cancels_the_call_and_drops_its_late_result(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT)])
    ask_for_call(app)
    decide(app, "once")
    app.until(lambda: "calculator" in tools.open)
    assert states(app) == ["running"]
    app.activity.stop()
    assert ended(app) and tools.canceled == ["calculator"] and states(app) == ["stopped"]
    tools.open["calculator"][0](ToolResult("late"))
    assert states(app) == ["stopped"] and len(app.engine.requests) == 1


def test_continue_sends_the_finished_calls(begin: Begin) -> None:
    app, _ = with_tools(begin, [calling(PRODUCT), [refuse("No memory.")], answer("It is 1888264.")], calculator="1888264")
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    turn = app.session.chat.turns[-1]
    assert turn.reply.error == "No memory." and turn.reply.can_continue and states(app) == ["done"]
    app.session.resume(turn)
    app.idle()
    assert (turn.reply.error, turn.reply.text) == ("", "Let me see.\n\nIt is 1888264.")
    assert app.engine.requests[2].messages == app.engine.requests[1].messages


def test_a_growing_reply_is_saved_without_its_calls(begin: Begin, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All results so far were serialized twice a second, on the window's thread."""
    gate, serialized = Event(), list[str]()
    script = [calling(PRODUCT), [commit("It is", 2), gate, commit(" 1888264."), done()]]
    app, _ = with_tools(lambda engine: begin(engine, data=tmp_path), script, calculator="1888264")
    ask_for_call(app)
    decide(app, "once")
    app.until(lambda: app.answer.endswith("It is"))
    monkeypatch.setattr("app.storage.store.details", lambda node: serialized.append(node.id))
    app.reply_runner._save_growth()
    stored: list[Any] = []
    app.services.store.read(lambda store: store.load(app.session.chat.id), stored.append)
    app.until(lambda: bool(stored))
    monkeypatch.undo()
    reply = stored[0].turns[0].reply
    assert not serialized and (reply.answer, reply.tokens) == (app.answer, app.session.chat.turns[0].reply.tokens)
    assert [(one.state, one.result) for one in reply.calls] == [("done", "1888264")]
    gate.set()
    app.idle()


def test_text_after_a_call_is_continued(begin: Begin) -> None:
    script = [calling(PRODUCT), [commit("It is"), done(reason="length", tokens=1024)], [commit(" 1888264."), done()]]
    app, _ = with_tools(begin, script, calculator="1888264")
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    app.session.resume(app.session.chat.turns[-1])
    app.idle()
    assert app.engine.requests[2].continue_from == "It is" and app.engine.requests[2].messages[-1].role == "tool"
    assert app.session.chat.turns[-1].reply.steps[1].answer == "It is 1888264."


@pytest.mark.parametrize("reason", ["length", "stop_string"])
def test_calls_of_a_step_that_was_cut_off_are_not_made(begin: Begin, reason: str) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT, reason=reason)])
    app.ask("What is 4817 × 392?")
    assert states(app) == ["stopped"] and not tools.called and app.session.chat.turns[-1].reply.reason == reason


def test_stopping_during_generation_after_a_call_makes_no_call(begin: Begin) -> None:
    gate = Event()
    app, tools = with_tools(begin, [[PRODUCT, commit("Let me see."), gate, done()]])
    app.send("What is 4817 × 392?")
    app.until(lambda: app.answer == "Let me see.")
    app.activity.stop()
    app.idle()
    assert states(app) == ["stopped"] and not tools.called and not app.reply_runner.asking


def test_an_error_after_a_call_makes_no_call(begin: Begin) -> None:
    app, tools = with_tools(begin, [[commit("Let me see."), PRODUCT, refuse("No memory.")]])
    app.ask("What is 4817 × 392?")
    assert states(app) == ["stopped"] and not tools.called
    assert app.session.chat.turns[-1].reply.error == "No memory." and app.session.chat.turns[-1].reply.can_continue


def test_a_reply_is_finished_once_with_its_last_step(begin: Begin) -> None:
    app, _ = with_tools(begin, [calling(PRODUCT), answer("It is 1888264.")], calculator="1888264")
    finished: list[int] = []
    app.reply_runner.finished.connect(lambda run, stats: finished.append(stats.tokens))
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    assert finished == [3]


def test_a_decision_on_a_turn_leaves_calls_of_others_with_the_same_id_alone(begin: Begin) -> None:
    """Some endpoints name the first call of each reply “call_0”."""
    script = [calling(PRODUCT), answer("First."), calling(PRODUCT), answer("Second.")]
    app, tools = with_tools(begin, script, calculator="1888264")
    ask_for_call(app)
    first = app.session.chat.turns[-1]
    decide(app, "once")
    app.idle()
    ask_for_call(app, "Again")
    app.reply_runner.decide(first, PRODUCT.id, "once")
    app.reply_runner.cancel_call(first, PRODUCT.id)
    assert states(app) == ["waiting"] and len(tools.called) == 1
    decide(app, "deny")
    app.idle()
    assert states(app) == ["denied"]


def test_the_built_in_calculator_is_called_once_it_is_allowed(begin: Begin) -> None:
    app = begin(ScriptedEngine([calling(PRODUCT), answer("It is 1888264.")], replace(PAIR, can_call_tools=True)))
    (config,) = [config for config in app.tools.configs if config.builtin == "calculator"]
    app.tools.set_enabled(config.name, True)
    app.session.set_settings(replace(app.session.chat.settings, tool_servers=(config.name,)))
    app.tools.warm(app.session.chat.settings)
    app.until(lambda: "calculator" in app.session.offered_tools)
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    (call,) = app.session.chat.turns[-1].reply.calls
    assert (call.state, call.result, call.server) == ("done", "1888264", config.name)


def test_canceling_a_call_goes_on_with_the_others(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), answer("Never mind.")])
    ask_for_call(app)
    decide(app, "once")
    app.until(lambda: "calculator" in tools.open)
    app.reply_runner.cancel_call(app.session.chat.turns[-1], "call_1")
    assert tools.canceled == ["calculator"]
    error = EngineText("tool_canceled", "The call was canceled.")
    tools.open["calculator"][0](ToolResult("The call was canceled.", error, failed=True))
    app.idle()
    assert states(app) == ["stopped"] and app.engine.requests[1].messages[-1].content == "The call was canceled."


@pytest.mark.parametrize("decided", [False, True])
def test_quitting_in_mid_call_records_an_interruption(begin: Begin, tmp_path: Any, decided: bool) -> None:
    app, tools = with_tools(lambda engine: begin(engine, data=tmp_path), [calling(PRODUCT)])
    ask_for_call(app)
    if decided:
        decide(app, "once")
        app.until(lambda: "calculator" in tools.open)
    app.quit()
    assert app.services.client.wait(120) and app.services.store.wait(120)
    store = Store(tmp_path / "chats.db")
    (summary,) = store.chats()
    reply = store.load(summary.id).turns[0].reply  # type: ignore[union-attr]
    store.close()
    assert (reply.text, reply.reason, [record.state for record in reply.calls]) == ("Let me see.", "interrupted", ["stopped"])


def test_unknown_tools_and_bad_arguments_are_errors_for_the_model(begin: Begin) -> None:
    bad = ToolCall("call_4", "calculator", "[1]"), ToolCall("call_5", "send_mail", "{}")
    app, tools = with_tools(begin, [calling(*bad), answer("Sorry.")])
    app.ask("What is 4817 × 392?")
    assert not tools.called and states(app) == ["failed", "failed"]


def test_a_regenerated_reply_starts_without_the_old_calls(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), answer("It is 1888264."), answer("I don't know.")], calculator="1888264")
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    app.session.regenerate(app.session.chat.turns[-1])
    app.idle()
    assert states(app) == [] and len(app.engine.requests[2].messages) == 1
    app.session.switch(app.session.chat.turns[-1].answered, -1)
    assert states(app) == ["done"] and len(tools.called) == 1


def test_compare_repeats_the_last_step_without_calling(begin: Begin) -> None:
    script = [calling(PRODUCT), answer("It is 1888264."), calling(PRODUCT), calling(PRODUCT)]
    app, tools = with_tools(begin, script, calculator="1888264")
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    app.services.comparer.compare()
    app.until(lambda: ended(app) and len(app.engine.requests) == 4)
    assert app.engine.requests[2].messages == app.engine.requests[1].messages
    assert app.engine.requests[2].tools == app.engine.requests[1].tools and len(tools.called) == 1


def test_rolling_steps_leave_out_as_much_as_the_first(begin: Begin) -> None:
    first = [PrefillProgress(5, 5, 0, left_out=4), *calling(PRODUCT)]
    app, _ = with_tools(begin, [first, answer("It is 1888264.")], calculator="1888264")
    app.session.change(rolling=True)
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    assert [request.rolling for request in app.engine.requests] == [0, 4]


def test_a_pair_without_tools_gets_none(begin: Begin) -> None:
    app, _ = with_tools(begin, [answer("Fine.")])
    app.loader.pair = replace(app.loader.pair, can_call_tools=False)
    app.ask("Hello")
    assert app.engine.requests[0].tools == ()


def test_a_reply_ends_after_the_number_of_steps_in_the_settings(begin: Begin) -> None:
    calls = [calling(replace(PRODUCT, id=f"call_{number}")) for number in range(6)]
    app, tools = with_tools(begin, calls, calculator="1888264")
    app.services.preferences.tool_steps = "5"
    ask_for_call(app)
    decide(app, "chat")
    app.idle()
    assert [request.tool_choice for request in app.engine.requests] == [*["auto"] * 4, "none"]
    assert len(tools.called) == 4 and states(app)[-1] == "stopped"
    app.services.preferences.reset()
    assert app.reply_runner.most_steps == 25


def test_a_refused_example_leaves_the_calculator_off(begin: Begin) -> None:
    """The chat that the user sent next had it on."""
    gate = Event()
    engine = ScriptedEngine(pair=replace(PAIR, can_call_tools=True))
    engine.load_gate = gate
    app = begin(engine, loaded=False)
    app.start()
    app.session.send("What is 4817 × 392?", example="calculator")
    assert app.notices[-1].startswith("The models are still loading.")
    assert app.session.chat.settings.tool_servers == () and app.session.chat.empty
    gate.set()
