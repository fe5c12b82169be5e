"""Growing K/V caches (mlx-lm's `KVCache`): rewinding is forgetting the last rows, which the next ones overwrite."""

from mlx_lm.models.cache import KVCache


def rewind(cache: KVCache, rows: int) -> None:
    """Drop the last `rows` tokens."""
    dropped = cache.trim(rows)
    if dropped != rows:
        raise ValueError(f"asked to drop {rows} rows of a cache that held {dropped}")
