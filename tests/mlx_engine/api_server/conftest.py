"""Servers of the demo pair and of a scripted engine."""

from collections.abc import Iterator

import pytest

from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine


@pytest.fixture(scope="module")
def demo_server() -> Iterator[Serving]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    """A server whose engine answers “Hello there.” to everything."""
    with serving(ScriptedEngine) as running:
        yield running
