"""Approvals: by fingerprint, revocable, shared by programs, and none after damage."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mlx_engine.contract.errors import UserError
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.tool import Tool

READ = Tool("Files", "read", description="Read a file.")
TOOLS = [READ, replace(READ, description="Read any file."), replace(READ, name="list"), replace(READ, origin="other")]
CHATS = st.sampled_from(["one", "two"])


class Programs(RuleBasedStateMachine):
    """Two programs that share a file, which may be damaged or removed at any time."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.file = Path(self.folder.name) / "approvals.json"
        self.programs = [Approvals(self.file), Approvals(self.file)]
        self.always: dict[tuple[str, str], str] = {}
        self.chats: list[set[tuple[str, str]]] = [set(), set()]
        self.damaged = False

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(
        at=st.integers(0, 1), tool=st.sampled_from(TOOLS), chat=CHATS, decision=st.sampled_from(["once", "chat", "always", "deny"])
    )
    def decide(self, at: int, tool: Tool, chat: str, decision: str) -> None:
        self.programs[at].record(tool, chat, decision)  # type: ignore[arg-type]
        if decision == "chat":
            self.chats[at] = {(known, found) for known, found in self.chats[at] if not self.same(known, found, chat, tool)}
            self.chats[at].add((chat, tool.fingerprint))
        if decision == "always":
            self.always = {} if self.damaged else self.always
            self.always[tool.server, tool.name] = tool.fingerprint
            self.damaged = False

    @staticmethod
    def same(known: str, found: str, chat: str, tool: Tool) -> bool:
        return known == chat and any(
            found == other.fingerprint for other in TOOLS if (other.server, other.name) == (tool.server, tool.name)
        )

    @rule(at=st.integers(0, 1), tool=st.sampled_from(TOOLS))
    def revoke(self, at: int, tool: Tool) -> None:
        self.programs[at].revoke(tool.server, tool.name)
        self.chats[at] = {(chat, found) for chat, found in self.chats[at] if not self.same(chat, found, chat, tool)}
        self.always = {} if self.damaged else self.always
        self.always.pop((tool.server, tool.name), None)
        self.damaged = False

    @rule(at=st.integers(0, 1))
    def restart(self, at: int) -> None:
        self.programs[at], self.chats[at] = Approvals(self.file), set()

    @rule(data=st.sampled_from([b"", b"{", b"[]", b"\xff", b'{"version": 2, "always": []}', b'{"version": 1}', b"[" * 99_999]))
    def damage(self, data: bytes) -> None:
        self.file.write_bytes(data)
        self.damaged = True

    @rule()
    def remove(self) -> None:
        self.file.unlink(missing_ok=True)
        self.always, self.damaged = {}, False

    @invariant()
    def exactly_what_was_allowed_is_allowed(self) -> None:
        always = {} if self.damaged else self.always
        for program, chats in zip(self.programs, self.chats, strict=True):
            assert program.always() == tuple(sorted(always))
            for tool in TOOLS:
                for chat in ("one", "two"):
                    is_allowed = (chat, tool.fingerprint) in chats or always.get((tool.server, tool.name)) == tool.fingerprint
                    assert program.allows(tool, chat) == is_allowed
                    known = any((chat, other.fingerprint) in chats for other in TOOLS if other.name == tool.name)
                    assert program.has_changed(tool, chat) == (not is_allowed and (known or (tool.server, tool.name) in always))


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(stateful_step_count=12)


def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "approvals.json"
    Approvals(file).record(READ, "chat", "always")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Approvals(file).allows(READ, "another chat")


@pytest.mark.parametrize("builtin", [False, True])
@pytest.mark.parametrize("change", ["server", "name", "title", "description", "schema", "origin"])
def test_a_changed_tool_is_asked_again_unless_an_update_rewords_it(change: str, builtin: bool, tmp_path: Path) -> None:
    approvals, tool = Approvals(tmp_path / "approvals.json"), replace(READ, builtin=builtin)
    approvals.record(tool, "chat", "always")
    is_reworded = builtin and change in ("title", "description", "schema")
    assert approvals.allows(replace(tool, **{change: "changed"}), "chat") == is_reworded
    assert approvals.allows(replace(tool, builtin=True), "chat"), "earlier builds saved approvals like those of other tools"
    assert approvals.allows(replace(tool, builtin=False), "chat") != builtin


@pytest.mark.parametrize("content", ["{", json.dumps({"version": 99, "always": [["Files", "read", READ.fingerprint]]})])
def test_a_file_that_cannot_be_understood_is_kept_aside(content: str, tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    file.write_text(content)
    approvals = Approvals(file)
    assert not approvals.allows(READ, "chat") and approvals.always() == ()
    approvals.record(READ, "chat", "always")
    assert approvals.allows(READ, "chat")
    assert (tmp_path / "approvals.damaged.json").read_text() == content


def test_an_approval_that_cannot_be_saved_holds_for_the_chat(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    approvals = Approvals(tmp_path / "folder" / "approvals.json")
    approvals.record(READ, "chat", "always")
    assert approvals.allows(READ, "chat") and not approvals.allows(READ, "other")
    with pytest.raises(UserError, match="Can't save the list of allowed tools"):
        approvals.revoke("Files", "read")
    assert not approvals.allows(READ, "chat")


def test_programs_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from mlx_engine.mcp.approvals import Approvals
        from mlx_engine.mcp.tool import Tool
        approvals = Approvals(Path(sys.argv[1]))
        for number in range(20):
            approvals.record(Tool(sys.argv[2], str(number)), "", "always")
            approvals.revoke(sys.argv[2], str(number - 10))"""
    file = tmp_path / "approvals.json"
    programs = [subprocess.Popen([sys.executable, "-c", code, str(file), name]) for name in "ABC"]
    assert [program.wait(60) for program in programs] == [0, 0, 0]
    expected = {(server, str(number)) for server in "ABC" for number in range(10, 20)}
    assert set(Approvals(file).always()) == expected
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".approvals")], "temporary files are removed"
