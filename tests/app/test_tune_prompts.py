"""`slipstream tune --chats` reads what the app has saved."""

from contextlib import closing
from pathlib import Path

from app.storage.attachments import Attachment
from app.storage.chat_tree import messages_to
from app.storage.database import FILE
from app.storage.settings import ChatSettings
from app.storage.store import Store
from app.text.plain_text import clean
from mlx_engine.cli.tune import saved_prompts
from mlx_engine.contract.requests import Message, ToolCall
from mlx_engine.mcp.record import CallRecord
from tests.app.scripted_engine import commit, done
from tests.app.test_store import chat_of, save


def test_each_question_of_a_saved_chat_is_a_prompt_with_what_came_before(tmp_path: Path) -> None:
    first, second, private = chat_of("One?", "Two?", answer="Yes."), chat_of("Three?"), chat_of("Secret?")
    second.settings, private.settings = ChatSettings(clean("Be brief.")), ChatSettings(private=True)
    with closing(Store(tmp_path / FILE)) as store:
        for chat in (first, second, private):
            save(store, chat)
        asked, answered = Message("user", "One?"), Message("assistant", "Yes.")
        expected = [
            (asked,),
            (asked, answered, Message("user", "Two?")),
            (Message("system", "Be brief."), Message("user", "Three?")),
        ]
        assert saved_prompts(tmp_path / FILE) == expected  # while the app has the file open
    assert saved_prompts(tmp_path / FILE) == expected


def test_prompts_are_what_was_shown_and_sent(tmp_path: Path) -> None:
    chat, with_tools = chat_of("One?"), chat_of("Search.", "And then?")
    answered = chat.turns[-1]
    again = chat.ask_again(answered, "dflash")
    again.reply.accept(commit("No."), 0.0)
    again.reply.accept(done(), 0.0)
    chat.ask("Two?", "dflash", attachments=(Attachment("notes.txt", " Some text.\n"),))
    call = CallRecord(ToolCall("1", "search", "{}"), "", "search")
    with_tools.turns[0].reply.calls = (call,)
    with closing(Store(tmp_path / FILE)) as store:
        for one in (chat, with_tools):
            save(store, one)
    expected = [
        (Message("user", "One?"),),
        messages_to(chat.turns[-1].asked)[:2] + (chat.turns[-1].asked.message,),
        (Message("user", "Search."),),
    ]
    assert saved_prompts(tmp_path / FILE) == expected and expected[1][1].content == "No."
