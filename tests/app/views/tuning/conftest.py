"""A pair to tune, with saved chats."""

from contextlib import closing
from pathlib import Path

import pytest

from app.storage.database import FILE
from app.storage.settings import ChatSettings
from app.storage.store import Store
from mlx_engine.hardware import machine
from mlx_engine.models.files import tuning_files
from tests.app.test_store import chat_of, save
from tests.mlx_engine.tuning.test_tune import copied


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A small pair, twelve saved chats, a private one, and a computer with enough memory."""
    monkeypatch.setattr(tuning_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(machine, "free_memory", lambda: 64_000_000_000)
    with closing(Store(tmp_path / FILE)) as store:
        for number in range(12):
            save(store, chat_of(f"Question {number}?"))
        private = chat_of("Secret?")
        private.settings = ChatSettings(private=True)
        save(store, private)
    pair = copied("e2e_qwen3", tmp_path / "pair")
    return pair / "target", pair / "drafter"
