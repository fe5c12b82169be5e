"""After a restart, an agent's next session has its system prompt and tools from the disk."""

import functools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mlx_engine.cli.agents import AGENTS
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.formats import chat_prompt
from tests.agents.sessions import session
from tests.agents.tiny_agents import KINDS, tiny_pair
from tests.mlx_engine.asking import reply
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.prefix.prefix_pairs import save

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory):
    """Return the requests of an agent's two sessions in a project. They are recorded once."""

    @functools.cache
    def run(name: str) -> Sequence[Sequence[GenerationRequest]]:
        folder = tmp_path_factory.mktemp(name)
        return [[replace(request, max_tokens=4) for request in session(name, folder).requests] for _ in range(2)]

    return run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in AGENTS if name != "aider"])
def test_the_first_turn_after_a_restart_comes_from_the_disk(name: str, kind: str, recorded, tmp_path: Path) -> None:
    """At least 95 % of the system prompt and tools, in all kinds of caches."""
    before, after = recorded(name)
    texts = [
        *(json.dumps(tool.declaration) for tool in before[0].tools),
        *(message.content for request in before for message in request.messages),
    ]
    engine = tiny_pair(kind, tmp_path / "pair", texts)
    engine.save_prompts(tmp_path / "store")
    for request in before:
        reply(engine, request)
    save(engine)
    engine.unload()
    engine = loaded(tmp_path / "pair" / "target", tmp_path / "pair" / "drafter")
    engine.save_prompts(tmp_path / "store")
    tokenizer = engine.pair.tokenizer
    opening = chat_prompt.render(tokenizer, after[0], with_boundaries=True).boundaries[0]
    got = reply(engine, after[0])
    print(f"{name}, {kind}: {got.stats.disk_tokens} of {opening} tokens of the system prompt and tools")
    assert opening >= 1000
    assert got.stats.disk_tokens >= 0.95 * opening
    assert got.tokens == reply(engine, replace(after[0], reuse=False, seed=got.stats.seed)).tokens
    engine.unload()
