"""The processes that decode, which end with the tests."""

from collections.abc import Iterator

import pytest

from mlx_engine.media import media_process


@pytest.fixture(scope="package", autouse=True)
def _processes() -> Iterator[None]:
    media_process.start()
    yield
    media_process.stop()
