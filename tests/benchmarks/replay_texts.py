"""Texts for `tests.benchmarks.replay`: what a model reads, and what it then writes, from this project and its history."""

import difflib
import json
import random
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_MOST_LINES = 400  # of a file that is changed
_TEXT = (".py", ".md", ".json", ".toml", ".sh")


@dataclass(frozen=True)
class Turn:
    """A prompt with all that was said before, and its reply."""

    prompt: str
    reply: str


@dataclass(frozen=True)
class Change:
    """A file before and after a commit."""

    path: str
    before: str
    after: str

    @property
    def edits(self) -> list[tuple[str, str]]:
        """Each changed place with a line around it, before and after."""
        old, new = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        groups = difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(1)
        return [("".join(old[g[0][1] : g[-1][2]]), "".join(new[g[0][3] : g[-1][4]])) for g in groups]

    @property
    def diff(self) -> str:
        lines = (self.before.splitlines(keepends=True), self.after.splitlines(keepends=True))
        return "".join(difflib.unified_diff(*lines, f"a/{self.path}", f"b/{self.path}"))


@dataclass(frozen=True)
class Task:
    """A commit: what was asked, and the files that it changed."""

    subject: str
    body: str
    changes: tuple[Change, ...]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def tasks(count: int) -> list[Task]:
    """Return the latest small commits that change up to three text files."""
    found = list[Task]()
    for line in _git("log", "--no-merges", "--format=%H", "-n", "1000").split():
        names = [each.split("\t") for each in _git("show", "--format=", "--numstat", "--diff-filter=M", line).splitlines()]
        every = _git("show", "--format=", "--name-only", line).split()
        sizes = [int(added) for added, _, path in names if added.isdigit() and path.endswith(_TEXT)]
        if not 1 <= len(every) <= 3 or len(sizes) != len(every) or not 6 <= sum(sizes) <= 90:
            continue
        changes = tuple(Change(path, _git("show", f"{line}^:{path}"), _git("show", f"{line}:{path}")) for path in every)
        if all(len(change.before.splitlines()) <= _MOST_LINES for change in changes):
            subject, _, body = _git("show", "-s", "--format=%B", line).partition("\n")
            found.append(Task(subject.strip(), body.strip(), changes))
        if len(found) == count:
            break
    return found


def asked(text: str) -> str:
    """Return a user's message, up to where the reply begins."""
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def chat(turns: Sequence[tuple[str, str]]) -> Iterator[Turn]:
    """Yield the turns of a chat."""
    said = ""
    for question, reply in turns:
        said += asked(question)
        yield Turn(said, reply + "<|im_end|>")
        said += f"{reply}<|im_end|>\n"


def _file(change: Change) -> str:
    return f"{change.path}\n```\n{change.before}```\n"


def whole_files(count: int) -> list[list[Turn]]:
    """Edits whose reply is the whole changed file."""
    chosen = [(task, task.changes[0]) for task in tasks(3 * count) if len(task.changes[0].before) < 9000][:count]
    return [[*chat([(f"{_file(change)}{task.subject}. {task.body}", f"```\n{change.after}```")])] for task, change in chosen]


def edit_blocks(count: int) -> list[list[Turn]]:
    """Edits whose reply has the changed places, before and after."""
    found = []
    for task in tasks(count):
        blocks = [
            f"{change.path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"
            for change in task.changes
            for old, new in change.edits
        ]
        prompt = "".join(map(_file, task.changes)) + f"{task.subject}. {task.body}"
        found.append([*chat([(prompt, "\n".join(blocks))])])
    return found


def diffs(count: int) -> list[list[Turn]]:
    """Edits whose reply is a unified diff."""
    return [
        [
            *chat([
                ("".join(map(_file, task.changes)) + f"{task.subject}. {task.body}", "".join(each.diff for each in task.changes)),
            ])
        ]
        for task in tasks(count)
    ]  # fmt: skip


def chats(count: int) -> list[list[Turn]]:
    """Questions and answers of the documentation, one chat per page."""
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        sections = re.split(r"^#+ ", page.read_text(), flags=re.M)[2:]
        turns = [(heading, body.strip()) for heading, _, body in (section.partition("\n") for section in sections)]
        prose = [(heading, body) for heading, body in turns if 200 < len(body) < 2500 and body.count("|") < 20]
        if len(prose) >= 3:
            found.append([*chat(prose[:6])])
    return found[:count]


def records(count: int) -> list[list[Turn]]:
    """Structured output: records of the catalog as JSON, asked for in words."""
    entries = json.loads((ROOT / "resources" / "catalog.json").read_text())
    rows = next(value for value in entries.values() if isinstance(value, list)) if isinstance(entries, dict) else entries
    draw, found = random.Random(0), []
    for _ in range(count):
        some = draw.sample(rows, 4)
        words = "\n".join("; ".join(f"{key} is {value}" for key, value in row.items()) for row in some)
        found.append([*chat([(f"Return these records as a JSON array:\n{words}", json.dumps(some, indent=2, ensure_ascii=False))])])
    return found


def translations(count: int) -> list[list[Turn]]:
    """Texts of the window in English, translated into German and Chinese."""
    found = []
    for language, name in (("de", "German"), ("zh_CN", "Chinese")):
        root = ElementTree.parse(ROOT / "resources" / "translations" / f"slipstream_{language}.ts").getroot()
        pairs = [(each.findtext("source") or "", each.findtext("translation") or "") for each in root.iter("message")]
        pairs = [(source, translated) for source, translated in pairs if translated.strip()]
        for at in range(count // 2):
            some = pairs[at * 40 : at * 40 + 40]
            lines = "\n".join(f"{i}. {source}" for i, (source, _) in enumerate(some, 1))
            reply = "\n".join(f"{i}. {translated}" for i, (_, translated) in enumerate(some, 1))
            found.append([*chat([(f"Translate into {name}:\n{lines}", reply)])])
    return found
