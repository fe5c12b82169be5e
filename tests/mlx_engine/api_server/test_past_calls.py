"""Calls that clients return: restored as the model wrote them, unless their meaning has changed."""

from typing import Any

import pytest

from mlx_engine.api_server.past_calls import RestoringDoor
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall

WRITTEN = ToolCall("1", "shell", '{"command": "ls", "timeout": 60000.0, "note": "é"}')


class Door:
    def __init__(self) -> None:
        self.requests: list[Any] = []

    def submit(self, request: Any, deliver: Any) -> Any:
        self.requests.append(request)
        deliver(WRITTEN)

    def close(self, closed: Any = None) -> None: ...


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
    inner = Door()
    door = RestoringDoor(inner)
    messages = (Message("user", "Hi"), Message("assistant", "", calls=(returned,)), Message("tool", "a b", call_id="1"))
    events: list[Any] = []
    door.submit(GenerationRequest(messages[:1]), events.append)
    assert events == [WRITTEN]
    door.submit(GenerationRequest(messages), events.append)
    assert inner.requests[1].messages[1].calls == (WRITTEN if restored else returned,)
    assert (*inner.requests[1].messages[:1], *inner.requests[1].messages[2:]) == (messages[0], messages[2])


def test_the_oldest_calls_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_engine.api_server.past_calls._MOST", 0)
    inner = Door()
    door = RestoringDoor(inner)
    returned = ToolCall("1", "shell", '{"timeout":60000,"note":"é","command":"ls"}')
    for _ in range(2):
        door.submit(GenerationRequest((Message("user", "Hi"), Message("assistant", "", calls=(returned,)))), lambda event: None)
    assert inner.requests[1].messages[1].calls == (returned,)
