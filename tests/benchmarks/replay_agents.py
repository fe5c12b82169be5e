"""Sessions of real coding agents for `tests.benchmarks.replay`.

Each agent from npm makes a change of this project's history in a copy of the files. What the model writes is scripted: it reads
the files, edits every changed place, looks at the diff, and says what it did. Prompts, declarations of tools, and their results are
the agent's own. Nothing is stored in the repository: they hold other people's text.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from tests.agents.scripted_model import ScriptedModel, Step, call
from tests.agents.sessions import session
from tests.benchmarks.replay_texts import Change, Task, Turn, tasks

_CONTEXT = 1 << 20


@dataclass(frozen=True)
class _Tools:
    """An agent's arguments without its prompt, and its calls to read, edit, and run."""

    arguments: tuple[str, ...]
    read: Callable[[Path], dict[str, str]]
    edit: Callable[[Path, str, str], dict[str, str]]
    run: Callable[[str], dict[str, str]]


AGENTS = {
    "pi": _Tools(
        ("-p",),
        lambda path: call("read", path=path.name),
        lambda path, old, new: call("edit", path=path.name, edits=[{"oldText": old, "newText": new}]),
        lambda command: call("bash", command=command),
    ),
    "claude": _Tools(
        ("--allowedTools", "Bash,Read,Edit", "-p"),
        lambda path: call("Read", file_path=str(path)),
        lambda path, old, new: call("Edit", file_path=str(path), old_string=old, new_string=new),
        lambda command: call("Bash", command=command, description="Show the changes"),
    ),
    "codex": _Tools(
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        lambda path: call("exec_command", cmd=f"cat {path.name}"),
        lambda path, old, new: call("exec_command", cmd=f"apply_patch <<'EOF'\n{_patch(path.name, old, new)}EOF\n"),
        lambda command: call("exec_command", cmd=command),
    ),
}


def _patch(name: str, old: str, new: str) -> str:
    lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
    return "\n".join(["*** Begin Patch", f"*** Update File: {name}", "@@", *lines, "*** End Patch", ""])


def _places(change: Change) -> list[tuple[str, str]]:
    """Return the changed places that can be found by their text."""
    return [(old, new) for old, new in change.edits if old and change.before.count(old) == 1]


def _steps(task: Task, tools: _Tools, folder: Path) -> list[Step]:
    files = [(folder / Path(change.path).name, change) for change in task.changes]
    steps = [Step(f"I'll read {path.name} first.", **tools.read(path)) for path, _ in files]
    for path, change in files:
        places = _places(change)
        for at, (old, new) in enumerate(places):
            steps.append(Step(f"Now I change {path.name}." if at == 0 else "", **tools.edit(path, old, new)))
    steps.append(Step("I check the result.", **tools.run("git diff")))
    names = ", ".join(path.name for path, _ in files)
    return [*steps, Step(f"Done. I changed {names}.\n\n{task.body or task.subject}")]


def _prepare(task: Task, folder: Path) -> None:
    for change in task.changes:
        (folder / Path(change.path).name).write_text(change.before)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "Start")):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def sessions(name: str, count: int) -> list[list[Turn]]:
    """Return the turns of an agent's sessions, one per task. Skips tasks that can't be edited by text."""
    found = list[list[Turn]]()
    for task in tasks(3 * count):
        names = [Path(change.path).name for change in task.changes]
        if len({*names}) < len(names) or not all(_places(change) for change in task.changes):
            continue
        found.append(_session(name, task))
        if len(found) == count:
            break
    return found


def _session(name: str, task: Task) -> list[Turn]:
    tools = AGENTS[name]

    def model(folder: Path) -> ScriptedModel:
        _prepare(task, folder)
        return ScriptedModel(_steps(task, tools, folder), _CONTEXT)

    with tempfile.TemporaryDirectory() as folder:
        prompt = f"{task.subject}. {task.body}"
        done = session(name, Path(folder), model, arguments=tools.arguments, prompt=prompt)
    if done.code:
        raise RuntimeError(f"{name} failed: {done.errors[-500:]}")
    return [Turn(_rendered(request), _reply(step)) for request, step in zip(done.requests, done.steps, strict=False)]


def _rendered(request: GenerationRequest) -> str:
    """Return the prompt as Qwen's templates would write it."""
    declared = "\n".join(json.dumps(tool.declaration, ensure_ascii=False) for tool in request.tools)
    parts = [f"<|im_start|>system\n<tools>\n{declared}\n</tools><|im_end|>\n"]
    for message in request.messages:
        parts.append(f"<|im_start|>{_role(message)}\n{_content(message)}<|im_end|>\n")
    return "".join(parts) + "<|im_start|>assistant\n"


def _role(message: Message) -> str:
    return "user" if message.role == "tool" else message.role


def _content(message: Message) -> str:
    if message.role == "tool":
        return f"<tool_response>\n{message.content}\n</tool_response>"
    return message.content + _calls(message.calls)


def _calls(calls: Sequence[ToolCall]) -> str:
    return "".join(
        f"\n<tool_call>\n<function={each.name}>\n{_parameters(each.arguments)}</function>\n</tool_call>" for each in calls
    )


def _parameters(arguments: str) -> str:
    """Return arguments in the format of Qwen3.5, which doesn't escape strings."""
    values = json.loads(arguments).items()
    texts = ((name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for name, value in values)
    return "".join(f"<parameter={name}>\n{text}\n</parameter>\n" for name, text in texts)


def _reply(step: Step) -> str:
    return step.text + (_calls([ToolCall("", step.tool, step.arguments)]) if step.tool else "") + "<|im_end|>"
