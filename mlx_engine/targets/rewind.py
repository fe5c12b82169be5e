"""Which cache rewinds how. A kind that is not listed is refused by name at load, never trimmed on trust."""

from mlx_engine.errors import UserError
from mlx_engine.families import REWINDS
from mlx_engine.targets import compound, growing, recurrent, rotating

Undo = growing.Undo | rotating.Undo | recurrent.Undo | compound.Undo
_KINDS = {"growing": growing.Undo, "rotating": rotating.Undo, "recurrent": recurrent.Undo}


def undo(cache: object) -> Undo:
    """How to take the pass that follows back out of this cache.

    Raises:
        UserError: Slipstream does not know how to rewind this kind.
    """
    kind = REWINDS.get(type(cache).__name__, "")
    if kind == "compound":
        return compound.Undo([undo(part) for part in cache.caches])  # type: ignore[attr-defined]
    if kind not in _KINDS:
        raise UserError(
            f"This target keeps a {type(cache).__name__}, which Slipstream cannot take rejected tokens back out of. "
            "Decode it plainly, or pick another target."
        )
    return _KINDS[kind](cache)


def keeps_nothing(undo: Undo) -> bool:
    """Whether it could as well have been made after the pass."""
    if isinstance(undo, compound.Undo):
        return all(keeps_nothing(part) for part in undo._parts)  # type: ignore[arg-type]
    return isinstance(undo, growing.Undo)
