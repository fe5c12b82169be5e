"""Every page: its links lead somewhere, the paths and commands it names exist, and the cheap ones run."""

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from mlx_engine.cli import main
from tests.packaging import script

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in ROOT.rglob("*.md")
    if not {part for part in path.relative_to(ROOT).parts if part.startswith(".") or part in ("build", "dist")}
)
FOLDERS = ("app", "mlx_engine", "metal", "resources", "tests", "packaging")
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^(?: {4}).*\n)+", re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Words that begin a command of ours; what begins otherwise is a word, a name or another system's command.
BEGINNINGS = ("make ", "slipstream ", ".venv/bin/", "packaging/", "tests/peers/", ".ci/", "python packaging/", "python -m ")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def commands(page: str) -> Iterator[str]:
    text = text_of(page)
    blocks = FENCE.findall(text) + INDENTED.findall(FENCE.sub("", text))
    for block in blocks:
        for line in block.splitlines():
            yield re.split(r"\s{2,}|\s#\s", line.strip())[0]
    for words in INLINE.findall(FENCE.sub("", text)):
        yield " ".join(words.split())


def ours(page: str) -> list[str]:
    return [
        command
        for command in commands(page)
        if command.startswith(BEGINNINGS) and not command.endswith(("/", ".txt", ".py", ".md"))
    ]


def told(arguments: list[str]) -> str:
    """The help text of a terminal command."""
    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as end:
        main.main([*arguments, "--help"])
    assert end.value.code == 0
    return out.getvalue()


def check_slipstream(words: list[str]) -> None:
    if words[:1] in (["chat|generate|compare|bench|models|doctor"], ["--help"], ["--version"]):
        return
    path = [words[0]]
    if words[0] == "models" and len(words) > 1 and words[1].isalpha() and words[1].islower():
        path.append(words[1])
    said = told(path)
    for word in words:
        if word.startswith("--"):
            assert word in said, f"slipstream {' '.join(path)} has no {word}"


def check(command: str) -> None:
    """The command exists, and so do what it names and the options it takes."""
    words = shlex.split(command.replace("…", "ELLIPSIS").replace("“", '"').replace("”", '"'))
    match words:
        case ["make", target, *_]:
            assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
        case ["slipstream" | ".venv/bin/slipstream", *rest]:
            if rest:
                check_slipstream(rest)
        case [".venv/bin/python" | "python", "-m", module, *_]:
            assert importlib.util.find_spec(module) is not None, module
        case ["python", "packaging/release/release.py", step, *_]:
            assert step in script("release/release.py").STEPS or step == "STEP", step
        case [file, *_] if file.startswith(("packaging/", "tests/peers/", ".ci/")):
            path = ROOT / file
            assert path.is_file() and path.stat().st_mode & 0o100, f"{file} cannot be run"
        case ["python", file, *_]:
            assert (ROOT / file).is_file(), file
        case _:
            raise AssertionError(f"no test knows how to look up `{command}`")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if link.startswith("https://"):
            continue
        assert "://" not in link, f"{link} is not https"
        file, _, anchor = link.partition("#")
        there = (ROOT / page).parent / file if file else ROOT / page
        assert there.exists(), f"{link} leads nowhere"
        assert there.resolve().is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page: str) -> None:
    for words in INLINE.findall(FENCE.sub("", text_of(page))):
        name = words.split()[0].rstrip(".,;:")
        if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./-]+", name) and "NAME" not in name and "_N." not in name:
            assert (ROOT / name).exists(), f"{page} names {name}"


@pytest.mark.parametrize("page", [page for page in PAGES if ours(page)])
def test_commands_that_are_named_exist(page: str) -> None:
    for command in ours(page):
        check(command)


def test_a_command_that_does_not_exist_is_noticed() -> None:
    for command in (
        "make nothing",
        "slipstream compare --no-such-option",
        ".venv/bin/python -m mlx_engine.nothing",
        "packaging/nothing.sh",
        "packaging/constraints.txt now",
        "python packaging/release/release.py nothing",
    ):
        with pytest.raises((AssertionError, ModuleNotFoundError, SystemExit, pytest.fail.Exception)):
            check(command)


CHEAP = (["models", "list"], ["--version"])


@pytest.mark.parametrize("arguments", CHEAP, ids=lambda arguments: arguments[0])
def test_cheap_commands_run(arguments: list[str]) -> None:
    result = subprocess.run([sys.executable, "-m", "mlx_engine", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.strip(), result.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "What is 2 + 3?", "--max-tokens", "8"],
        ["compare", "How many divisors does 84 have?"],
        ["doctor"],
        ["models", "fit", "demo"],
    ],
    ids=lambda one: one[0],
)
def test_dearer_commands_run(arguments: list[str]) -> None:
    result = subprocess.run([sys.executable, "-m", "mlx_engine", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.long
def test_programs_of_the_pages_tell_their_options() -> None:
    modules = {
        words[2]
        for page in PAGES
        for command in ours(page)
        if (words := command.split())[0].endswith("python") and words[1] == "-m"
    }
    for module in sorted(modules - {"pip", "pytest", "tests.golden", "app"}):
        result = subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 0 and "usage" in result.stdout, f"{module}: {result.stderr}"
