"""Real agents complete a task with two tools, through `slipstream launch` and the real server, and leave the user's files alone."""

import functools
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from mlx_engine.cli.agents import AGENTS
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.media.images import image_size
from tests.agents.scripted_model import CompactingModel, ScriptedModel, Step, call
from tests.agents.sessions import FINAL, FOUND, HEADLESS, Session, session
from tests.agents.tiny_agents import KINDS, Turn, WritingModel
from tests.mlx_engine.media.made_media import picture, saved

pytestmark = pytest.mark.long
OWN_SETTINGS = (
    *(".claude.json", ".claude/settings.json", ".codex/config.toml", ".config/opencode/opencode.json"),
    *(".pi/agent/models.json", ".pi/agent/settings.json", ".qwen/settings.json"),
)
SHOT = saved(picture(size=(64, 48)), "PNG")
OPENING = 6  # tokens of an empty thinking section, which the template drops later
DAMAGED = "{ not for Slipstream"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory):
    """Return an agent's session, which runs once."""

    @functools.cache
    def run(name: str) -> Session:
        folder = tmp_path_factory.mktemp(name)
        for file in OWN_SETTINGS:
            path = folder / "home" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(DAMAGED)
        return session(name, folder)

    return run


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_completes_a_task(name: str, recorded) -> None:
    done = recorded(name)
    assert done.code == 0, done.errors
    assert FINAL in done.output
    if name == "aider":  # edits files without tools
        assert (done.folder / "hello.py").read_text() == "print('good evening')\n"
        return
    assert (done.folder / "note.txt").read_text() == "café <1>"
    assert len(done.requests) == 3
    [_, note, read] = done.requests
    assert [message.role for message in note.messages[-2:]] == ["assistant", "tool"]
    assert note.messages[-2].content == "I write the note." and note.messages[-2].thinking == "The note comes first."
    assert read.messages[-1].role == "tool" and FOUND in read.messages[-1].content
    assert read.messages[-2].thinking == "Now the file.\n\nIt is short."
    assert [message.calls[0].id for message in read.messages if message.calls] == ["call00001", "call00002"]


@pytest.mark.parametrize("name", AGENTS)
def test_the_users_own_settings_are_neither_read_nor_changed(name: str, recorded) -> None:
    home = recorded(name).home
    files = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    caches = {file for file in files if Path(file).parts[0] in (".cache", ".npm", "Library", ".aider")}
    caches |= {file for file in files if file.startswith(".local/share/Slipstream/")}  # Slipstream's own list of connections
    assert files - caches == set(OWN_SETTINGS)
    assert all((home / file).read_text() == DAMAGED for file in OWN_SETTINGS)


def test_claude_code_does_not_run_commands_without_being_allowed_to(tmp_path: Path) -> None:
    done = session("claude", tmp_path, arguments=["-p"])
    assert done.requests[1].messages[-1].role == "tool" and not (done.folder / "note.txt").exists()


@pytest.mark.parametrize(("name", "tool", "argument"), [("claude", "Read", "file_path"), ("opencode", "read", "filePath")])
def test_a_screenshot_that_an_agent_reads_reaches_the_engine(name: str, tool: str, argument: str, tmp_path: Path) -> None:
    def model(folder: Path) -> ScriptedModel:
        (folder / "shot.png").write_bytes(SHOT)
        return ScriptedModel([Step("I look.", **call(tool, **{argument: str(folder / "shot.png")})), Step(FINAL)], can_see=True)

    done = session(name, tmp_path, model)
    assert done.code == 0 and FINAL in done.output, done.errors
    [image] = [image for message in done.requests[1].messages for image in message.images]
    assert (image_size(image.data).width, image_size(image.data).height) == (64, 48)


def written_turns(
    name: str, kind: str, folder: Path, like: Sequence[GenerationRequest], steps: Callable[[Path], Sequence[Step]]
) -> list[Turn]:
    """Return the turns of a session in which a tiny target writes the steps.

    Args:
        like: requests with about the same texts, for the tokenizer.
    """
    texts = [
        *(json.dumps(tool.declaration) for tool in like[0].tools),
        *(message.content for request in like for message in request.messages),
    ]
    models: list[WritingModel] = []

    def model(scratch: Path) -> WritingModel:
        models.append(WritingModel(kind, folder / "pair", texts, steps(scratch)))
        return models[0]

    done = session(name, folder, model)
    assert done.code == 0 and FINAL in done.output, done.errors
    return models[0].turns


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in AGENTS if name != "aider"])
def test_later_turns_come_from_the_cache(name: str, kind: str, recorded, tmp_path: Path) -> None:
    """The second turn has at least 95 % of its prompt from the cache. Later turns read only what is new, in all kinds of caches."""
    first, *later = written_turns(name, kind, tmp_path, recorded(name).requests, HEADLESS[name].steps)
    print(f"{name}, {kind}: " + ", ".join(f"{turn.reused / turn.prompt:.1%} of {turn.prompt}" for turn in later))
    assert first.reused == 0 and len(later) == 2
    before = first
    for turn in later:
        assert turn.reused >= 0.95 * turn.prompt
        assert turn.reused >= before.prompt - OPENING  # all that the turn before has read
        before = turn


def test_tools_that_claude_code_finds_do_not_change_the_beginning_of_the_prompt(tmp_path: Path) -> None:
    steps = [
        Step("", **call("ToolSearch", query="select:WebFetch,NotebookEdit", max_results=5)),
        Step("", **call("Bash", description="List files", command="ls")),
        Step(FINAL),
    ]
    done = session("claude", tmp_path, lambda _: ScriptedModel(steps))
    first, second, _ = (request.tools for request in done.requests)
    assert [tool.name for tool in second[len(first) :]] == ["WebFetch", "NotebookEdit"]
    assert json.dumps(second[-1].parameters, ensure_ascii=False) in done.requests[1].messages[-1].content
    turns = written_turns("claude", "dense", tmp_path / "again", done.requests, lambda _: steps)
    for before, turn in pairwise(turns):
        assert turn.reused >= before.prompt - OPENING


@pytest.mark.parametrize(("name", "context", "lines"), [("claude", 25_000, 800), ("opencode", 16_000, 700)])
def test_an_agent_compacts_a_chat_that_is_too_long(name: str, context: int, lines: int, tmp_path: Path) -> None:
    tool, field = {"claude": ("Read", "file_path"), "opencode": ("read", "filePath")}[name]

    def model(folder: Path) -> CompactingModel:
        files = [folder / f"{letter}.txt" for letter in "abc"]
        for file in files:
            file.write_text("".join(f"Line {at} of {file.name} has a few more words, and then it ends.\n" for at in range(lines)))
        return CompactingModel([*(Step("", **call(tool, **{field: str(file)})) for file in files), Step(FINAL)], context)

    done = session(name, tmp_path, model)
    assert FINAL in done.output, done.errors  # OpenCode's exit code is 1 after any error
    assert done.refused  # “too long” was understood
