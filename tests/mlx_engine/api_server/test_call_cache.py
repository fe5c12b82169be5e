"""Calls that clients return: restored as the model wrote them, unless their meaning has changed."""

from dataclasses import replace
from typing import Any

import pytest

from mlx_engine.api_server.call_cache import CallCache
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall

WRITTEN = ToolCall("1", "shell", '{"command": "ls", "timeout": 60000.0, "note": "é"}')


@pytest.mark.parametrize(
    ("returned", "restored"),
    [
        (ToolCall("1", "shell", '{"timeout":60000,"note":"\\u00e9","command":"ls"}'), True),
        (ToolCall("1", "shell", '{"timeout":60001,"note":"é","command":"ls"}'), False),
        (ToolCall("1", "shell", '{"command": "ls", "timeout"'), False),
        (ToolCall("1", "shell", "[" * 100_000), False),
        (ToolCall("1", "read", WRITTEN.arguments), False),
        (ToolCall("2", "shell", '{"timeout":60000,"note":"é","command":"ls"}'), False),
    ],
)
def test_a_call_is_restored_unless_its_meaning_has_changed(returned: ToolCall, restored: bool) -> None:
    cache = CallCache()
    messages = (Message("user", "Hi"), Message("assistant", "", calls=(returned,)), Message("tool", "a b", call_id="1"))
    events: list[Any] = []
    cache.keeping(events.append)(WRITTEN)
    assert events == [WRITTEN]
    found = cache.restored(GenerationRequest(messages)).messages
    assert found[1].calls == (WRITTEN if restored else returned,)
    assert (*found[:1], *found[2:]) == (messages[0], messages[2])


def test_the_oldest_calls_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_engine.api_server.call_cache._MOST", 2)
    cache = CallCache()
    written = tuple(replace(WRITTEN, id=id) for id in "123")
    for call in written:
        cache.keeping(lambda event: None)(call)
    returned = tuple(replace(call, arguments='{"timeout":60000,"note":"é","command":"ls"}') for call in written)
    found = cache.restored(GenerationRequest((Message("user", "Hi"), Message("assistant", "", calls=returned))))
    assert found.messages[1].calls == (returned[0], *written[1:])
