"""The structure of the project: import directions, pinned packages, file sizes, nothing specific to one machine."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.tracked import tracked

ROOT = Path(__file__).parents[1]

# Packages of mlx_engine and app, top first. A package imports only from those below its own line.
LEVELS = {
    "mlx_engine": (
        "__main__",
        "cli",
        "remote api_server",
        "ring",
        "engine",
        "tuning calibration",
        "prefix loading prompt_sets",
        "mcp decoding",
        "targets formats",
        "models documents",
        "drafters media vision",
        "hardware kernels network",
        "contract",
    ),
    "app": (
        "__main__",
        "selftest",
        "application",
        "window",
        "views",
        "session",
        "rendering",
        "widgets",
        "storage",
        "system",
        "text",
    ),
}
MAX_LOOSE = 3  # modules next to packages
# Top-level packages and what each may import.
PACKAGES = {
    "app": {"app", "mlx_engine"},
    "mlx_engine": {"mlx_engine", "metal", "resources"},
    "metal": {"metal"},
    "resources": {"resources"},
}
MLX = {"mlx", "mlx_lm"}
# Files that are longer than 500 lines, with the reason.
LONG_FILES: dict[str, str] = {}


@cache
def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return a file's module and everything in it."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Return the line and dotted name of each import of a file, including those in functions and under TYPE_CHECKING."""
    found: list[tuple[int, str]] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parent.parts[: len(path.relative_to(ROOT).parts) - node.level] if node.level else ()
            module = ".".join((*above, *([node.module] if node.module else [])))
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_packages_import_in_one_direction(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(package)
        for line, name in imports(path)
        if name.split(".")[0] in PACKAGES and name.split(".")[0] not in PACKAGES[package]
    ]
    assert not wrong


def modules(package: str) -> dict[str, Path]:
    """Return the files of a package by module name."""
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in sources(package)}


def test_the_engine_imports_nothing_by_itself() -> None:
    assert [name for _, name in imports(ROOT / "mlx_engine/__init__.py")] == ["os"], "importing one module must be quick"


@pytest.mark.parametrize("package", LEVELS)
def test_packages_import_only_from_lower_levels(package: str) -> None:
    level_of = {name: level for level, names in enumerate(LEVELS[package]) for name in names.split()}
    folders = {module.split(".")[1] for module in modules(package) if "." in module}
    assert folders == set(level_of), "LEVELS lists every package and loose module"
    wrong = []
    for module, path in modules(package).items():
        own = module.split(".")[1] if "." in module else None
        for line, name in imports(path):
            top, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if own and top == package and other in level_of and other != own and level_of[other] <= level_of[own]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}, which is not on a lower level")
    assert not wrong


@pytest.mark.parametrize("package", LEVELS)
@pytest.mark.parametrize("depth", [3, 9])
def test_no_imports_form_a_cycle(package: str, depth: int) -> None:
    """Neither packages inside packages (depth 3) nor modules (any depth). Imports under TYPE_CHECKING count."""
    files = modules(package)
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        own = ".".join(module.split(".")[:depth])
        imported = {found for _, name in imports(path) for found in (name, name.rpartition(".")[0]) if found in files}
        graph.setdefault(own, set()).update({".".join(name.split(".")[:depth]) for name in imported} - {own})
    for parent in {name.rpartition(".")[0] for name in graph}:
        graph.pop(parent, None)  # a package is its modules
    try:
        TopologicalSorter({name: found & graph.keys() for name, found in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("package", LEVELS)
def test_packages_with_packages_have_few_loose_modules(package: str) -> None:
    crowded = {}
    for folder in {path.parent for path in sources(package)}:
        loose = [path.name for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
        if any(folder.glob("*/__init__.py")) and len(loose) > MAX_LOOSE:
            crowded[str(folder.relative_to(ROOT))] = loose
    assert crowded == {}


def test_no_two_modules_share_a_name() -> None:
    repeated = {"__init__.py", "__main__.py"}
    kinds = {path.parent for path in sources("mlx_engine/drafters") if path.name == "model.py" and path.parent.name != "parts"}
    modules = [path for package in LEVELS for path in sources(package) if path.name not in repeated]
    # Each kind of drafter has the same modules
    names = [path.name for path in modules if path.parent not in kinds]
    assert sorted({name for name in names if names.count(name) > 1}) == []


# Views that are composed of another view's widgets. Their state is in app/session.
COMPOSED = {
    *{("chat", "tools"), ("chat", "transcript"), ("compare", "transcript"), ("tools", "transcript"), ("models", "machine")},
    *{("chat", "pictures"), ("compare", "pictures"), ("transcript", "pictures"), ("quick", "chat"), ("quick", "transcript")},
}


def test_views_import_only_views_that_they_are_composed_of() -> None:
    found = {
        (path.parent.name, name.split(".")[2])
        for path in sources("app/views")
        for _, name in imports(path)
        if name.startswith("app.views.") and name.split(".")[2] != path.parent.name
    }
    assert found == COMPOSED


def test_session_and_storage_use_no_widgets() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in ("app/session", "app/storage", "app/system", "app/text")
        for path in sources(package)
        for line, name in imports(path)
        if name.startswith(("PySide6.QtWidgets", "app.widgets", "app.rendering"))
    ]
    assert not wrong


@pytest.mark.parametrize("package", LEVELS)
def test_architecture_describes_every_package(package: str) -> None:
    rows = re.findall(rf"^\| `{package}/(\w+)/` \|", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.MULTILINE)
    folders = [path.parent.name for path in (ROOT / package).glob("*/__init__.py")]
    assert sorted(rows) == sorted(folders)


def test_app_and_engine_do_not_mix_qt_and_mlx() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package, foreign in (("app", MLX), ("mlx_engine", {"PySide6"}), ("resources", MLX | {"PySide6"}))
        for path in sources(package)
        for line, name in imports(path)
        if name.split(".")[0] in foreign
    ]
    assert not wrong


def test_choosing_a_pair_and_serving_do_not_import_mlx() -> None:
    packages = "models", "contract", "media", "remote", "mcp", "api_server"
    names = [name for package in packages for name in modules(f"mlx_engine/{package}")]
    code = "import importlib, sys\n"
    code += "for name in sys.argv[1:]:\n"
    code += "    importlib.import_module(name)\n"
    code += "    assert not {'mlx', 'mlx_lm'} & set(sys.modules), name"
    assert subprocess.run([sys.executable, "-c", code, *names], cwd=ROOT).returncode == 0


def constraints() -> list[Requirement]:
    lines = (ROOT / "packaging/constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_package_is_pinned_to_one_version() -> None:
    loose = [str(pin) for pin in constraints() if [clause.operator for clause in pin.specifier] != ["=="]]
    assert not loose
    names = [normalized(pin.name) for pin in constraints()]
    assert len(names) == len(set(names))


def test_pins_satisfy_the_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [name for extra in project["project"]["optional-dependencies"].values() for name in extra]
    pins = {normalized(pin.name): str(pin.specifier).removeprefix("==") for pin in constraints()}
    for requirement in map(Requirement, wanted):
        assert normalized(requirement.name) in pins, f"{requirement.name} is not pinned"
        assert requirement.specifier.contains(pins[normalized(requirement.name)]), (
            f"the pin of {requirement.name} is outside its range"
        )


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {normalized(Requirement(line).name) for line in project["dependencies"]}


def test_imported_packages_are_declared_and_declared_ones_imported() -> None:
    homes = {**{name: ["pyobjc-framework-Cocoa"] for name in ("AppKit", "Foundation", "objc")}, **packages_distributions()}
    homes["mlx"] = ["mlx"]  # on Linux a second package, which mlx requires
    names = {name.split(".")[0] for package in PACKAGES for path in sources(package) for _, name in imports(path)}
    names -= PACKAGES.keys() | sys.stdlib_module_names
    assert {normalized(home) for name in names for home in homes[name]} == declared()


def test_no_private_part_of_another_package_is_imported() -> None:
    """It may change in any release. mlx-lm is pinned to one, and Pygments gives the type of tokens no other name."""
    known = {"mlx_lm.utils._get_classes", "pygments.token._TokenType"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in PACKAGES
        for path in sources(package)
        for line, name in imports(path)
        if name.split(".")[0] not in PACKAGES and any(re.match(r"_(?!_)", part) for part in name.split(".")) and name not in known
    ]
    assert not wrong


def test_architecture_has_a_reason_for_every_dependency() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Which package is needed for what?")[2].partition("\n## ")[0]
    rows = [name for cells in re.findall(r"^\| (.+?) \| ", table, re.MULTILINE) for name in re.findall(r"[\w.-]+", cells)]
    assert {normalized(name) for name in rows} - {"package"} == declared()


def test_installed_packages_match_the_pins() -> None:
    """Finds packages that are installed without a pin, and pins that are not followed."""
    pins = {normalized(pin.name): str(pin.specifier).removeprefix("==") for pin in constraints()}
    installed = {normalized(found.metadata["Name"]): found.version.split("+")[0] for found in distributions()}
    installed.pop("slipstream", None)
    # Skipped outside the environment of packaging/setup.sh, because other packages are installed there.
    if not (ROOT / ".venv/slipstream-place").exists():
        pytest.skip("not an environment made by packaging/setup.sh")
    assert {name: version for name, version in installed.items() if pins.get(name) != version} == {}


def test_constraints_contain_no_index_url() -> None:
    text = (ROOT / "packaging/constraints.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", text, re.MULTILINE)


def test_no_ignored_file_is_tracked() -> None:
    """Checking out a tracked `.venv` would replace the real one."""
    found = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    assert found.stdout.decode().split() == []


def test_files_stay_small() -> None:
    code = [name for name in tracked() if name.endswith((".py", ".metal", ".sh"))]
    long = [name for name in code if len((ROOT / name).read_text(encoding="utf-8").splitlines()) > 500]
    assert long == sorted(LONG_FILES)


def test_nothing_is_specific_to_one_machine() -> None:
    # Split, so that the pattern does not match this file.
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


def test_no_two_public_classes_share_a_name() -> None:
    found: dict[str, list[str]] = {}
    for path in (*sources("app"), *sources("mlx_engine")):
        for node in nodes(path)[0].body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_every_module_has_a_docstring_and_first_lines_are_short() -> None:
    for path in (path for folder in (*PACKAGES, "packaging") for path in sources(folder)):
        assert ast.get_docstring(nodes(path)[0]), f"{path.relative_to(ROOT)} has no docstring"
        for node in nodes(path):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                assert len(first) <= 80, f"{path.relative_to(ROOT)}: “{first}” has more than 80 characters"


# What reaches the terminal without passing console.py. Log messages pass it: `console.prepare` formats them.
TERMINAL = {
    *("print", "input", "builtins.print", "builtins.input", "pprint.pprint", "pprint.pp", "getpass.getpass"),
    *("sys.stdin", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "sys.displayhook", "sys.excepthook"),
    *("logging.StreamHandler", "logging.basicConfig", "logging.lastResort", "logging.config", "warnings.showwarning"),
    *("traceback.print_exc", "traceback.print_exception", "traceback.print_stack", "traceback.print_tb", "faulthandler.enable"),
    *("os.write", "os.writev", "os.system", "os.fdopen", "subprocess.call", "subprocess.check_call"),
}
# Uses that write to a pipe, or read, or only ask whether there is a terminal
NO_TERMINAL = {
    "mlx_engine/hardware/child_loop.py": {"sys.stdin", "sys.stdout"},
    "mlx_engine/hardware/child_process.py": {"os.write"},
    "mlx_engine/network/connection_log.py": {"os.write"},
    "mlx_engine/models/downloads/download_queue.py": {"print", "sys.stdin", "traceback.print_exception"},  # read by the window
    "mlx_engine/cli/arguments.py": {"sys.stdin"},
    "mlx_engine/cli/chat.py": {"sys.stdin"},
    "mlx_engine/cli/models.py": {"sys.stdin", "getpass.getpass"},
    "mlx_engine/cli/tune_process.py": {"sys.stdin"},
    "mlx_engine/cli/worker_options.py": {"sys.stdin"},
    "mlx_engine/ring/rank.py": {"os.fdopen"},
}


def uses_of(names: set[str], found: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and full name of each use of `names`, under whatever name they were imported."""
    full = {}
    for node in found:
        if isinstance(node, ast.Import):
            full |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            full |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            yield from ((node.lineno, f"{node.module}.*") for alias in node.names if alias.name == "*")
    for node in found:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            first, *rest = ast.unparse(node).split(".")
            name = ".".join((full.get(first, first), *rest))
            if name in names:
                yield node.lineno, name


def test_only_the_console_module_writes_to_the_terminal() -> None:
    """Anywhere else, a name from the hub or a file could reach the terminal with escape sequences in it."""
    wrong = []
    for path in sources("mlx_engine"):
        name = str(path.relative_to(ROOT))
        for line, used in uses_of(TERMINAL, nodes(path)):
            if path.name != "console.py" and used not in NO_TERMINAL.get(name, ()):
                wrong.append(f"{name}:{line} uses {used} instead of a function of console.py")
    assert not wrong


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("print(x)", "print"),
        ("line = input(name)", "input"),
        ("from sys import stdout", None),
        ("from sys import stdout\nstdout.write(x)", "sys.stdout"),
        ("from sys import stderr as out\nprint_to(out)", "sys.stderr"),
        ("import sys as s\ns.stdout.buffer.write(x)", "sys.stdout"),
        ("from sys import *", "sys.*"),
        ("from logging import StreamHandler as H\nlog.addHandler(H())", "logging.StreamHandler"),
        ("import logging\nlogging.basicConfig()", "logging.basicConfig"),
        ("import traceback as t\nt.print_exc()", "traceback.print_exc"),
        ("import os\nos.write(1, x)", "os.write"),
        ("from os import write as w\nw(1, x)", "os.write"),
        ("import builtins\nshow = builtins.print", "builtins.print"),
    ],
)
def test_uses_of_the_terminal_are_found_under_any_name(source: str, used: str | None) -> None:
    found = {name for _, name in uses_of(TERMINAL, list(ast.walk(ast.parse(source))))}
    assert found == ({used} if used else set())


# What makes connections or looks up names without passing `mlx_engine.network`
NETWORK = {
    *(f"httpx2.{name}" for name in ("Client", "AsyncClient", "HTTPTransport", "AsyncHTTPTransport", "get", "post", "stream")),
    *("httpx2.request", "httpx2.put", "httpx2.head", "httpx2.delete", "httpx2.patch", "httpx2.options", "urllib.request.urlopen"),
    *("socket.socket", "socket.create_connection", "socket.create_server", "socket.fromfd", "socket.getaddrinfo"),
    *("socket.gethostbyname", "socket.gethostbyname_ex", "socket.gethostbyaddr", "socket.getnameinfo", "socket.getfqdn"),
    *("asyncio.open_connection", "asyncio.start_server", "anyio.connect_tcp", "anyio.create_tcp_listener", "anyio.getaddrinfo"),
    *(f"huggingface_hub.{name}" for name in ("HfApi", "hf_hub_download", "snapshot_download", "get_session", "model_info")),
    *(f"PySide6.QtNetwork.{name}" for name in ("QNetworkAccessManager", "QTcpSocket", "QUdpSocket", "QSslSocket", "QTcpServer")),
    *("PySide6.QtNetwork.QHostInfo", "PySide6.QtNetwork.QDnsLookup", "mcp.client.sse.sse_client"),
}
NETWORK_MODULES = {
    *("http", "requests", "aiohttp", "httpx", "httpcore2", "ftplib", "smtplib", "xmlrpc", "websockets", "hf_xet", "socks"),
}
# Listening sockets. What they accept is recorded; only the local server's may be reachable from other computers
LISTENING = {
    "mlx_engine/api_server/listener.py": {"socket.socket", "socket.getaddrinfo"},
    "mlx_engine/mcp/oauth.py": {"asyncio.start_server"},
}


def annotations(found: list[ast.AST]) -> set[ast.AST]:
    """Return all parts of annotations."""
    parts: list[ast.AST | None] = []
    for node in found:
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts.append(node.returns)
    return {inner for part in parts if part is not None for inner in ast.walk(part)}


@pytest.mark.parametrize("package", ["app", "mlx_engine"])
def test_only_the_network_package_makes_connections(package: str) -> None:
    """Anywhere else, a connection wouldn't be listed, and Offline wouldn't refuse it."""
    wrong = []
    for path in sources(package):
        name = str(path.relative_to(ROOT))
        types = annotations(nodes(path))
        used = [
            *uses_of(NETWORK, [node for node in nodes(path) if node not in types]),
            *((line, one) for line, one in imports(path) if one.split(".")[0] in NETWORK_MODULES),
        ]
        if not name.startswith("mlx_engine/network/"):
            wrong += [f"{name}:{line} uses {one}" for line, one in used if one not in LISTENING.get(name, ())]
    assert not wrong


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("import httpx2\nhttpx2.AsyncClient()", "httpx2.AsyncClient"),
        ("from httpx2 import Client as C\nC()", "httpx2.Client"),
        ("import socket as s\ns.create_connection(x)", "socket.create_connection"),
        ("from PySide6.QtNetwork import QTcpSocket\nQTcpSocket()", "PySide6.QtNetwork.QTcpSocket"),
        ("import httpx2\nhttpx2.Timeout(1)", None),
    ],
)
def test_uses_of_the_network_are_found_under_any_name(source: str, used: str | None) -> None:
    assert {name for _, name in uses_of(NETWORK, list(ast.walk(ast.parse(source))))} == ({used} if used else set())
