"""The hub's fixtures: an own data folder for each test, and a local hub."""

from tests.mlx_engine.models.conftest import local_hub, own_places

__all__ = ["local_hub", "own_places"]
