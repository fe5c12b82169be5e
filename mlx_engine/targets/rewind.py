"""Which cache rewinds how. A kind that is not listed is refused by name at load, never trimmed on trust."""

from collections.abc import Callable

from mlx_engine.errors import UserError
from mlx_engine.targets import growing

_REWINDERS: dict[str, Callable] = {"KVCache": growing.rewind}


def for_cache(cache: object) -> Callable:
    """The function that takes rows back out of this kind of cache.

    Raises:
        UserError: Slipstream does not know how to rewind it.
    """
    kind = type(cache).__name__
    if kind not in _REWINDERS:
        raise UserError(
            f"This target keeps a {kind}, which Slipstream cannot take rejected tokens back out of. "
            "Decode it plainly, or pick another target."
        )
    return _REWINDERS[kind]
