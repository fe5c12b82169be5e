"""`slipstream tune --chats` reads what the app has saved."""

from contextlib import closing
from pathlib import Path

from app.conversations.database import FILE
from app.conversations.plain_text import clean
from app.conversations.settings import ChatSettings
from app.conversations.store import Store
from mlx_engine.requests import Message
from mlx_engine.terminal.tune import saved_prompts
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
