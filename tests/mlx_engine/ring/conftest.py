"""A keychain in memory, and ranks that are woken quickly."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.keychain import keychain


@pytest.fixture(autouse=True, scope="module")
def in_memory() -> Iterator[None]:
    with keychain():
        yield


@pytest.fixture(autouse=True, scope="module")
def woken_quickly() -> Iterator[None]:
    """Ranks wait for each other many times in a pass. A batch process is woken late."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getscheduler(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    yield
    os.sched_setscheduler(0, before, os.sched_param(0))
