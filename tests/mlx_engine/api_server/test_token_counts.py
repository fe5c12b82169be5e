"""The count of a message's tokens in Anthropic's dialect is that of the reply's prompt."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.api_server.test_messages import PATH, READ, USER, answered, refused


@pytest.fixture(scope="module")
def engine() -> played.PlayedEngine:
    return played.PlayedEngine()


@pytest.fixture(scope="module")
def server(engine: played.PlayedEngine) -> Iterator[Serving]:
    with serving(lambda: engine) as running:
        yield running


def test_tokens_are_counted(server: Serving) -> None:
    got = server.post(f"{PATH}/count_tokens?beta=true", messages=[USER], system="Be brief.", tools=[READ], model="default")
    assert answered(got) == {"input_tokens": 7}


def test_the_prompt_of_the_reply_is_counted(server: Serving, engine: played.PlayedEngine) -> None:
    """Effort was left out, and a reply to continue was counted as a message."""
    said = {"messages": [USER, {"role": "assistant", "content": "Well"}], "output_config": {"effort": "high"}, "tools": [READ]}
    answered(server.post(PATH, max_tokens=9, **said))
    answered(server.post(f"{PATH}/count_tokens", **said))
    counted, sent = engine.counted[-1], engine.requests[-1]
    assert sent.effort == "high" and sent.continue_from == "Well"
    assert replace(counted, max_tokens=sent.max_tokens) == sent


def test_counting_refuses_what_replies_refuse(server: Serving) -> None:
    refused(server.post(f"{PATH}/count_tokens", messages=[USER], model="claude-9"), 404)
    assert "“messages" in refused(server.post(f"{PATH}/count_tokens", messages=[]))["message"]
