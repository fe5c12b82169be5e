"""Servers of tools that answer immediately."""

from collections.abc import Iterator

import pytest

from tests.app.views.tools.fake_servers import FakeServers


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeServers]]:
    """Replaces the servers of all tool boxes."""
    monkeypatch.setattr("app.session.tool_box.ToolServers", FakeServers)
    monkeypatch.setattr(FakeServers, "answers", {})
    monkeypatch.setattr(FakeServers, "made", [])
    monkeypatch.setattr(FakeServers, "slow", False)
    yield FakeServers
