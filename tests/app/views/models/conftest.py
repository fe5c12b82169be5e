"""A test hub with one pair, an empty cache, and a catalog with that pair, for every test of the picker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants, set_client_factory

from mlx_engine.models.library.catalog import custom_catalog_file
from mlx_engine.network.hub_session import hub_client
from tests.hub.local_hub import LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.hub.server import ServedHub

MB = 1_000_000


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with ServedHub() as hub:
        hub.repo("owner/target", target_files(MB, 400_000), tags=("license:apache-2.0",))
        hub.repo("owner/drafter", drafter_files(300_000))
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[4]))
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
        custom_catalog_file().parent.mkdir(parents=True)
        entry = {"id": "zebra-1b", "name": "Zebra 1B", "targets": [{"repo": "owner/target", "bits": 8}]}
        custom_catalog_file().write_text(json.dumps([{**entry, "drafter": {"repo": "owner/drafter"}, "tags": ["coding"]}]))
        yield hub
        set_client_factory(hub_client)


@pytest.fixture
def hub(own_places: LocalHub) -> LocalHub:
    return own_places
