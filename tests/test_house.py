"""The rules of the house: which way imports run, pinned packages, file sizes, nothing of one machine in the tree."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.tracked import tracked

ROOT = Path(__file__).parents[1]

# The floors of the engine, from the top down: a room imports what stands below it, never what stands above or beside it.
FLOORS = (
    ("cli",),
    ("bench",),
    ("terminal",),
    ("host",),
    ("engine",),
    ("tuning",),
    ("comparison", "reply_stats"),
    ("loading",),
    ("warmup",),
    ("prefix",),
    ("chat",),
    ("channels",),
    ("decoding",),
    ("targets",),
    ("drafters",),
    ("memory", "positions"),
    ("kernels",),
    ("pairs",),
    ("families",),
    ("limits",),
    ("events",),
    ("requests", "errors", "blas"),
)
# `errors` is the one word that everything says.
EVERYWHERE = {"errors"}
HOUSE = {
    "app": {"app", "mlx_engine"},
    "mlx_engine": {"mlx_engine", "metal", "resources"},
    "metal": {"metal"},
    "resources": {"resources"},
}
TENSORS = {"mlx", "mlx_lm"}
# Files that are one thing and still longer than 500 lines, with the reason.
LONG_FILES: dict[str, str] = {}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of every import of a file, also of those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parent.parts[: len(path.relative_to(ROOT).parts) - node.level] if node.level else ()
            module = ".".join((*above, *([node.module] if node.module else [])))
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


@pytest.mark.parametrize("folder", sorted(HOUSE))
def test_imports_run_one_way_between_the_houses_parts(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(folder)
        for line, name in imported(path)
        if name.split(".")[0] in HOUSE and name.split(".")[0] not in HOUSE[folder]
    ]
    assert not wrong


def test_inside_the_engine_imports_run_downwards() -> None:
    floor = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
    wrong = []
    for path in sources("mlx_engine"):
        place = path.relative_to(ROOT / "mlx_engine").with_suffix("").parts[0]
        if place == "__init__":
            assert not list(imported(path)), "the engine's own package imports nothing, so that importing a part of it is quick"
            continue
        assert place in floor, f"{path.relative_to(ROOT)} stands on no floor; give it a place in FLOORS"
        for line, name in imported(path):
            parts = name.split(".")
            if parts[0] != "mlx_engine" or len(parts) == 1:
                continue
            room = parts[1]
            if room != place and room not in EVERYWHERE and floor.get(room, -1) <= floor[place]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}, which is not below it")
    assert not wrong


def test_the_window_knows_no_tensors_and_the_engine_no_qt() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for folder, foreign in (("app", TENSORS), ("mlx_engine", {"PySide6"}), ("resources", TENSORS | {"PySide6"}))
        for path in sources(folder)
        for line, name in imported(path)
        if name.split(".")[0] in foreign
    ]
    assert not wrong


def test_choosing_a_pair_imports_no_mlx() -> None:
    """Neither itself nor through what it imports."""
    code = "import sys, pkgutil, importlib, mlx_engine.pairs as p\n"
    code += "for m in pkgutil.walk_packages(p.__path__, 'mlx_engine.pairs.'): importlib.import_module(m.name)\n"
    code += "sys.exit(sorted({'mlx', 'mlx.core', 'mlx_lm'} & set(sys.modules)) and 1 or 0)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def constraints() -> list[Requirement]:
    lines = (ROOT / "packaging/constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_package_is_pinned_to_one_version() -> None:
    loose = [str(pin) for pin in constraints() if [clause.operator for clause in pin.specifier] != ["=="]]
    assert not loose
    names = [normal(pin.name) for pin in constraints()]
    assert len(names) == len(set(names))


def test_every_dependency_has_its_pin_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [name for extra in project["project"]["optional-dependencies"].values() for name in extra]
    pins = {normal(pin.name): str(pin.specifier).removeprefix("==") for pin in constraints()}
    for requirement in map(Requirement, wanted):
        assert normal(requirement.name) in pins, f"{requirement.name} has no pin"
        assert requirement.specifier.contains(pins[normal(requirement.name)]), f"the pin of {requirement.name} is out of its range"


def test_what_is_installed_is_what_is_pinned() -> None:
    """So a package that came in by the back door is found, and so is a pin that nothing needs to obey."""
    pins = {normal(pin.name): str(pin.specifier).removeprefix("==") for pin in constraints()}
    installed = {normal(found.metadata["Name"]): found.version.split("+")[0] for found in distributions()}
    installed.pop("slipstream", None)
    # Skipped: the pins are for the environment of `make run` and `make test`; one with the train extra, or another's, differs.
    if "torch" in installed or not (ROOT / ".venv/slipstream-place").exists():
        pytest.skip("not the environment that packaging/setup.sh makes")
    assert {name: version for name, version in installed.items() if pins.get(name) != version} == {}


def test_the_constraints_hold_no_index_address() -> None:
    text = (ROOT / "packaging/constraints.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", text, re.MULTILINE)


def test_nothing_is_tracked_that_git_is_to_ignore() -> None:
    """Checking out a tracked `.venv` would put it in the place of the real one, and lose that."""
    found = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    assert found.stdout.decode().split() == []


def test_files_stay_small() -> None:
    code = [name for name in tracked() if name.endswith((".py", ".metal", ".sh"))]
    long = [name for name in code if len((ROOT / name).read_text(encoding="utf-8").splitlines()) > 500]
    assert long == sorted(LONG_FILES)


def test_nothing_of_one_machine_is_in_the_tree() -> None:
    # in pieces, so that this file does not hold what it looks for
    pattern = re.compile(
        "|".join((r"(?<![\w.~<}])/(?:" + "work|root|tmp/[a-z]|Users" + ")/", "://[^ ]*/" + "simple", "index-" + "url"))
    )
    hits = []
    for name in tracked():
        data = (ROOT / name).read_bytes()
        if b"\0" in data[:4096]:
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            if pattern.search(line):
                hits.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not hits


def test_every_package_says_what_it_is() -> None:
    for folder in HOUSE:
        for path in sources(folder):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert ast.get_docstring(tree), f"{path.relative_to(ROOT)} does not begin with a docstring"
