"""mcp.json: reading, writing, importing, and secrets."""

import hashlib
import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backends.fail import Keyring as NoKeychain

from mlx_engine.contract import secrets as stored_secrets
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.secrets import is_reference
from mlx_engine.mcp import config
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.config import BUILTINS, ServerConfig, import_config, other_apps, read_config, resolved, write_config
from mlx_engine.mcp.tool import Tool
from tests.examples import sampled
from tests.keychain import keychain

GITHUB = ServerConfig("github", command="npx", args=("-y", "server-github"), env=(("GITHUB_TOKEN", "ghp_1"), ("LEVEL", "debug")))
REMOTE = ServerConfig("remote", url="https://example.com/mcp", headers=(("Authorization", "Bearer abc"),), timeout_s=5.0)


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    with keychain():
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mcp.json"


def servers(text: str, file: Path) -> tuple[ServerConfig, ...]:
    file.write_text(text)
    return read_config(file)


def entry(**fields: object) -> str:
    return json.dumps({"mcpServers": {"x": fields}})


_VALUES = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=3)


@given(_VALUES, _VALUES, st.sampled_from(["env", "headers"]))
def test_an_approval_depends_on_names_and_values_of_variables_and_headers(
    before: dict[str, str], after: dict[str, str], field: str
) -> None:
    tools = [Tool("x", "a", origin=ServerConfig("x", **{field: tuple(each.items())}).origin) for each in (before, after)]
    assert (tools[0].fingerprint == tools[1].fingerprint) == (before == after)
    reordered = ServerConfig("x", **{field: tuple(reversed(before.items()))})
    assert reordered.origin == tools[0].origin, "another order changes nothing"
    assert ServerConfig("x", env=(("A", "1"),)).origin != ServerConfig("x", headers=(("A", "1"),)).origin


def test_approvals_keep_no_values(file: Path) -> None:
    approvals = Approvals(file)
    for server in (GITHUB, REMOTE):
        approvals.record(Tool(server.name, "search", origin=server.origin), "", "always")
    assert not any(secret in file.read_text() for secret in ("ghp_1", "GITHUB_TOKEN", "abc"))


def test_a_secret_that_moves_to_the_keychain_or_is_replaced_needs_approval_again(file: Path) -> None:
    approvals = Approvals()
    approvals.record(Tool("github", "search", origin=GITHUB.origin), "", "always")

    def holds() -> bool:
        return approvals.allows(Tool("github", "search", origin=read_config(file)[0].origin), "")

    write_config(file, [GITHUB])
    assert not holds()
    approvals.record(Tool("github", "search", origin=read_config(file)[0].origin), "", "always")
    write_config(file, read_config(file))
    assert holds()
    write_config(file, [replace(read_config(file)[0], env=(("GITHUB_TOKEN", "ghp_2"), ("LEVEL", "debug")))])
    assert not holds()


def test_approvals_of_earlier_versions_hold_only_for_built_in_servers(file: Path) -> None:
    """Their fingerprints didn't cover variables and headers, which may have changed."""

    def earlier(server: ServerConfig) -> str:
        parts = (server.builtin, server.command, server.args, server.cwd, server.url, server.folders)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    plain = ServerConfig("plain", command="x")
    for server in (GITHUB, REMOTE, plain, *BUILTINS):
        Approvals(file).record(Tool(server.name, "search", origin=earlier(server)), "", "always")
    approvals = Approvals(file)
    for server in (GITHUB, REMOTE, plain, replace(plain, env=(("A", "1"),)), *BUILTINS):
        is_builtin = bool(server.builtin)
        assert approvals.allows(Tool(server.name, "search", origin=server.origin, builtin=is_builtin), "") == is_builtin
    assert len(approvals.always()) == 6, "each can be revoked"


def test_importing_leaves_out_servers_that_differ_only_in_variables() -> None:
    text = entry(command="npx", args=["-y", "server-github"], env={"GITHUB_TOKEN": "ghp_2"})
    assert import_config(text, [GITHUB]) == ()


def test_without_a_file_the_built_in_servers_are_off(file: Path) -> None:
    assert read_config(file) == BUILTINS
    assert not any(builtin.enabled for builtin in BUILTINS)


def test_an_entry_as_other_apps_have_it(file: Path) -> None:
    text = """{
      // my servers
      "mcpServers": {
        "github": {"command": "npx", "args": ["-y", "server-github",], "env": {"GITHUB_TOKEN": "ghp_1", "LEVEL": "debug"}},
        "remote": {"type": "http", "url": "https://example.com//mcp", "disabled": true, "alwaysAllow": ["all"]}, /* more */
      },
    }"""
    github, remote, *builtins = servers(text, file)
    assert github == GITHUB and tuple(builtins) == BUILTINS
    assert remote.url == "https://example.com//mcp", "no comment"
    assert not remote.enabled and json.loads(remote.other) == {"type": "http", "alwaysAllow": ["all"]}


def test_written_servers_are_read_again(file: Path) -> None:
    file.write_text('{"theme": {"dark": true}, "mcpServers": {}}')
    files = replace(BUILTINS[1], enabled=True, folders=("/Documents",))
    configs = (replace(GITHUB, other='{"note": [1, null]}'), replace(REMOTE, enabled=False), BUILTINS[0], files, BUILTINS[2])
    assert write_config(file, configs) is None
    assert tuple(map(resolved, read_config(file))) == configs
    assert json.loads(file.read_text())["theme"] == {"dark": True}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_secrets_are_in_the_keychain_and_not_in_the_file(file: Path) -> None:
    write_config(file, [GITHUB, REMOTE])
    text = file.read_text()
    assert "ghp_1" not in text and "abc" not in text and '"LEVEL": "debug"' in text
    assert "ghp_1" not in repr(GITHUB)
    github, remote, *_ = stored = read_config(file)
    assert is_reference(github.env[0][1]) and is_reference(remote.headers[0][1])
    assert resolved(github) == GITHUB and resolved(remote) == REMOTE
    write_config(file, stored)
    assert read_config(file) == stored, "references are kept"


def test_secrets_of_removed_servers_leave_the_keychain(file: Path) -> None:
    write_config(file, [GITHUB, REMOTE])
    github, remote, *_ = read_config(file)
    write_config(file, [remote])
    with pytest.raises(UserError, match="has no “GITHUB_TOKEN” for “github”"):
        resolved(github)
    assert resolved(remote) == REMOTE


def test_without_a_keychain_secrets_last_until_the_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.set_keyring(NoKeychain())
    problem = write_config(file, [GITHUB])
    assert problem is not None and "until you quit" in problem.message
    assert "ghp_1" not in file.read_text()
    assert resolved(read_config(file)[0]) == GITHUB
    monkeypatch.setattr(stored_secrets, "_unsaved", {})
    with pytest.raises(UserError, match="Enter it again"):
        resolved(read_config(file)[0])


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("OPENAI_API_KEY", "x", True),
        ("PASSWORD", "x", True),
        ("DATABASE_URL", "postgres://me:secret@host/db", True),
        ("PLAIN", "sk-123", True),
        ("LEVEL", "debug", False),
        ("PATH", "/usr/bin:/bin", False),
        ("HOST", "https://example.com", False),
        ("TOKEN", "", False),
        ("TOKEN", "${input:token}", False),
    ],
)
def test_which_variables_are_secret(name: str, value: str, is_secret: bool, file: Path) -> None:
    write_config(file, [replace(GITHUB, env=((name, value),))])
    assert is_reference(read_config(file)[0].env[0][1]) == is_secret


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "isn't valid JSON"),
        ("[]", "isn't valid JSON"),
        ("{", "isn't valid JSON"),
        ('{"mcpServers": {"x": {"command": "a"}, "x": {"command": "b"}}}', "“x” appears twice"),
        ('{"mcpServers": {"x": {"command": "a", "timeoutSeconds": NaN}}}', "NaN isn't a number"),
        ('{"mcpServers": {"x": {"command": "\\ud800"}}}', "isn't valid JSON"),
        ("[" * 100_000, "isn't valid JSON"),
        ('{"a": "' + "x" * 1_000_000 + '"}', "isn't valid JSON"),
        ('{"name": "package"}', "no “mcpServers” object"),
        ('{"mcpServers": []}', "no “mcpServers” object"),
        ('{"mcpServers": {"x": []}}', "“x” needs either a command or a URL"),
        (entry(), "“x” needs either a command or a URL"),
        (entry(command="a", url="https://a.b"), "“x” needs either a command or a URL"),
        (entry(builtin="files", command="a"), "“x” needs either a command or a URL"),
        (entry(builtin="shell"), '“builtin” of “x” isn\'t valid. Use a value such as "calculator"'),
        (entry(command=["a"]), '“command” of “x” isn\'t valid. Use a value such as "npx"'),
        (entry(command="a\0"), "“command” of “x” isn't valid"),
        (entry(command="a", args="b"), "“args” of “x” isn't valid"),
        (entry(command="a", args=[1]), "“args” of “x” isn't valid"),
        (entry(command="a", env=["A=1"]), "“env” of “x” isn't valid"),
        (entry(command="a", env={"A": [1]}), "“env” of “x” isn't valid"),
        (entry(command="a", disabled="yes"), "“disabled” of “x” isn't valid"),
        (entry(command="a", timeoutSeconds="60"), "“timeoutSeconds” of “x” isn't valid"),
        (entry(command="a", timeoutSeconds=True), "“timeoutSeconds” of “x” isn't valid"),
        (entry(url="ftp://a.b"), "“url” of “x” isn't valid"),
        (entry(url="https://"), "“url” of “x” isn't valid"),
        (entry(url="https://a.b:99999"), "“url” of “x” isn't valid"),
        (entry(url="https://a.b/c d"), "“url” of “x” isn't valid"),
        (entry(url="file:///etc/passwd"), "“url” of “x” isn't valid"),
        ('{"mcpServers": {"": {"command": "a"}}}', "isn't a valid server name"),
        ('{"mcpServers": {"a\\u202eb": {"command": "a"}}}', "isn't a valid server name"),
        ('{"mcpServers": {"' + "x" * 65 + '": {"command": "a"}}}', "isn't a valid server name"),
    ],
)
def test_bad_files_are_refused_with_a_reason(text: str, message: str, file: Path) -> None:
    with pytest.raises(UserError, match=message):
        servers(text, file)
    with pytest.raises(UserError):
        write_config(file, [GITHUB])
    assert file.read_text() == text, "the user's file is kept"


@pytest.mark.parametrize("seconds", ["1e400", "1" + 400 * "0"])
def test_a_timeout_is_limited(seconds: str, file: Path) -> None:
    config, *_ = servers(entry(command="a", timeoutSeconds=0).replace("0", seconds), file)
    assert config.timeout_s == 3600


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Can't read"):
        read_config(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Can't"):
        write_config(tmp_path / "file" / "mcp.json", [GITHUB])


def test_names_are_unique(file: Path) -> None:
    with pytest.raises(UserError, match="Two servers have the same name"):
        write_config(file, [GITHUB, replace(REMOTE, name="github")])
    assert not file.exists()
    names = [config.name for config in servers('{"mcpServers": {"Calculator": {"command": "calc"}}}', file)]
    assert names == ["Calculator", "Calculator 2", "Files", "Documents"]


def test_placeholders_of_other_apps_are_explained() -> None:
    with pytest.raises(UserError, match=r"“github” contains the placeholder “\$\{input:token\}”"):
        resolved(replace(GITHUB, env=(("TOKEN", "Bearer ${input:token}"),)))


def test_the_origin_is_what_runs_and_how() -> None:
    changes = {
        "command": "x",
        "args": (),
        "cwd": "/",
        "url": "x",
        "folders": ("/",),
        "builtin": "files",
        "env": (),
        "headers": (("A", "1"),),
    }
    origins = {replace(GITHUB, **{name: value}).origin for name, value in changes.items()}
    assert len(origins | {GITHUB.origin}) == 1 + len(changes)
    assert replace(GITHUB, name="other", enabled=False, timeout_s=1.0).origin == GITHUB.origin


@pytest.mark.parametrize("wrap", ["mcpServers", "servers", ""])
def test_servers_of_other_apps_are_imported(wrap: str, file: Path) -> None:
    entries = {
        "github": {"command": "npx", "args": ["-y", "server-github"], "env": {"GITHUB_TOKEN": "ghp_1", "LEVEL": "debug"}},
        "remote": {"type": "http", "url": "https://other.example/mcp"},
    }
    text = json.dumps({wrap: entries, "inputs": []} if wrap else entries)
    file.write_text(text)
    for source in (file, text):
        github, remote = import_config(source)
        assert github == GITHUB
        again = import_config(source, [GITHUB, REMOTE])
        assert again == (replace(remote, name="remote 2"),), "known servers are left out, and names are unique"


def test_an_import_turns_on_nothing_built_in_and_reveals_no_secret(file: Path) -> None:
    write_config(file, [GITHUB])
    [reference] = [value for _, value in read_config(file)[0].env if is_reference(value)]
    text = json.dumps(
        {
            "mcpServers": {
                "Files": {"builtin": "files", "folders": ["/"]},
                "spy": {"url": "https://spy.example", "headers": {"X": reference, "Y": "1"}},
            }
        }
    )
    assert import_config(text) == (ServerConfig("spy", url="https://spy.example", headers=(("Y", "1"),)),)


def test_files_of_other_apps_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert other_apps() == {}
    support = tmp_path / "Library/Application Support"
    found = {
        "Claude Desktop": support / "Claude/claude_desktop_config.json",
        "Cursor": tmp_path / ".cursor/mcp.json",
        "LM Studio": tmp_path / ".lmstudio/mcp.json",
        "VS Code": support / "Code/User/mcp.json",
    }
    for path in found.values():
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    assert other_apps() == found


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NAMES = st.text("abc DEF-_ü", min_size=1, max_size=10).map(str.strip).filter(bool)
PAIRS = st.dictionaries(TEXTS, TEXTS.filter(lambda text: not is_reference(text)), max_size=3).map(
    lambda found: tuple(found.items())
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
)
UNKNOWN = st.dictionaries(st.sampled_from(["type", "note", "x", "autoApprove"]), JSON, max_size=2).map(json.dumps)
COMMON = {
    "enabled": st.booleans(),
    "timeout_s": st.sampled_from([1.0, 60.0, 99.5]),
    "other": UNKNOWN,
    "env": PAIRS,
    "headers": PAIRS,
    "cwd": TEXTS,
}
CONFIGS = st.lists(
    st.builds(ServerConfig, NAMES, command=TEXTS.filter(bool), args=st.lists(TEXTS, max_size=3).map(tuple), **COMMON)
    | st.builds(ServerConfig, NAMES, url=st.sampled_from(["http://localhost:8000/mcp", "https://a.b/ü?x=1"]), **COMMON)
    | st.builds(
        ServerConfig,
        NAMES,
        builtin=st.sampled_from([one.builtin for one in BUILTINS]),
        folders=st.lists(TEXTS).map(tuple),
        **COMMON,
    ),
    max_size=3,
    unique_by=lambda config: config.name,
)


@sampled(5, 50)
@given(configs=CONFIGS)
def test_any_servers_are_read_as_they_were_written(configs: list[ServerConfig], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("configs") / "mcp.json"
    with keychain():
        write_config(file, configs)
        read = read_config(file)
        assert [replace(each, env=(), headers=()) for each in read[: len(configs)]] == [
            replace(each, env=(), headers=()) for each in configs
        ]
        for found, config_ in zip(read, configs, strict=False):
            if "${" not in repr([*config_.env, *config_.headers, config_.command, *config_.args]):
                assert resolved(found) == config_


WHOLE = json.dumps(
    {
        "mcpServers": {
            "a": json.loads(entry(command="npx", args=["-y"], env={"A": "1"}))["mcpServers"]["x"],
            "b": {"url": "https://a.b"},
        }
    }
)


@given(at=st.integers(0, len(WHOLE)), size=st.integers(0, 9), text=st.text('{}[]",:/\\*ab1 \n', max_size=5))
def test_a_damaged_file_is_read_or_refused(at: int, size: int, text: str) -> None:
    damaged = WHOLE[:at] + text + WHOLE[at + size :]
    try:
        found = import_config(damaged)
    except UserError as error:
        assert str(error)
    else:
        assert all(isinstance(config, ServerConfig) for config in found)
