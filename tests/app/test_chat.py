"""Which messages of a chat go into the next request."""

from app.storage.chat_tree import Chat, same_again
from mlx_engine.contract.events import Failed
from mlx_engine.contract.requests import Message
from tests.app.scripted_engine import commit, done


def test_a_request_contains_the_messages_before_it() -> None:
    chat = Chat()
    first = chat.ask("One?", "dflash")
    first.reply.accept(commit("thought", channel="thinking"), 0.0)
    first.reply.accept(commit("Yes."), 0.0)
    second = chat.ask("Two?", "plain")
    assert second.request.messages == (Message("user", "One?"), Message("assistant", "Yes.", "thought"), Message("user", "Two?"))
    assert (first.request.mode, second.request.mode) == ("dflash", "plain")


def test_a_question_that_failed_is_not_in_the_next_request() -> None:
    chat = Chat()
    chat.ask("Far too long", "dflash").reply.accept(Failed("error", "Too long."), 0.0)
    assert chat.ask("Short", "dflash").request.messages == (Message("user", "Short"),)


def test_compare_repeats_the_last_question_with_its_seed() -> None:
    chat = Chat()
    turn = chat.ask("One?", "dflash")
    assert chat.last_comparable is None
    turn.reply.accept(done(seed=99), 0.0)
    assert chat.last_comparable is turn
    assert same_again(turn).seed == 99
    assert same_again(turn).messages == turn.request.messages
    for ending in ("interrupted", "cancelled", "error"):
        last = chat.ask("Two?", "dflash")
        last.reply.reason = ending  # type: ignore[assignment]
        assert chat.last_comparable is last, "never silently an earlier question"


def test_regenerating_replaces_an_empty_reply_and_keeps_one_with_text() -> None:
    chat = Chat()
    failed = chat.ask("Q", "dflash")
    again = chat.ask_again(failed, "plain")
    assert chat.turns == [again]
    assert (again.prompt, again.request.mode) == ("Q", "plain")
    assert again.last.place == (1, 1)
    again.reply.accept(commit("Half"), 0.0)
    again.reply.accept(Failed("error", "No."), 0.0)
    third = chat.ask_again(again, "plain")
    assert chat.turns == [third] and third.last.place == (2, 2)
