"""Check whether a target is row-exact on this machine."""

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.contract.errors import EngineText
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.targets import exact
from mlx_engine.targets.caches import Caches
from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.rotating import RotatingCache
from mlx_engine.targets.target import StreamRows, Target

_PROMPT = 24  # rows of the prompt
_DEPTH = 600  # tokens before the trial: several attention parts, and longer than most sliding windows
_WIDTHS = (2, 5, 8, 16)
_FAR = 0.25  # difference from MLX's logits, relative to their spread, that rounding can't explain


def check(target: Target, operations: Operations) -> None:
    """Check that a row's logits are the same alone, in a block, and next to others.

    The target uses the row-exact `operations` afterwards.

    Raises:
        UserError: the target isn't row-exact on this machine, with the reason.
    """
    if target.family is None or not target.family.row_exact:
        family = target.family.model_type if target.family else ""
        template = "the “{family}” family uses a different formula for a single row than for several"
        raise exact.refusal(EngineText.of("exact_family", template, family=family))
    target.use(PLAIN)
    usual = _alone(target).astype(mx.float32)
    target.use(operations)
    if operations.verify_matmul is not PLAIN.verify_matmul:
        for part in target.model.modules():
            if isinstance(part, nn.QuantizedLinear) and part.mode != "affine":
                raise exact.refusal(exact.weights_text(part.bits, part.group_size, part.mode))
    alone = _alone(target)
    if not (_in_blocks(target, alone) and _next_to_others(target, alone)):
        raise exact.refusal(
            EngineText.of("exact_trial", "on this machine, the result for a row depends on the number of rows in a pass")
        )
    far = mx.sqrt(mx.square(alone.astype(mx.float32) - usual).mean()) > _FAR * mx.sqrt(mx.var(usual))
    if far.item():
        raise exact.refusal(EngineText.of("exact_wrong", "on this machine, the required kernels give wrong results"))
    mx.clear_cache()


def _tokens(target: Target, count: int) -> mx.array:
    return (mx.arange(count, dtype=mx.uint32) * 7 + 3) % target.rows


def _start(target: Target) -> Caches:
    caches = target.caches()
    mx.eval(target.forward(_tokens(target, _PROMPT), caches))
    caches.grow(_DEPTH)
    return caches


def _alone(target: Target) -> mx.array:
    """Return the logits of successive rows, each computed alone."""
    caches, tokens = _start(target), _tokens(target, max(_WIDTHS) + len(_WIDTHS))
    rows = []
    for row in range(tokens.size):
        rows.append(target.forward(tokens[row : row + 1], caches))
        mx.eval(rows[-1])
    return mx.concatenate(rows)


def _in_blocks(target: Target, alone: mx.array) -> bool:
    """Return whether blocks give the same bits. Keeps one row of each block."""
    caches, tokens = _start(target), _tokens(target, alone.shape[0])
    attending = sum(isinstance(each, GrowingCache | RotatingCache) for each in caches.adapters)
    assert target.attend is not None
    for row, width in enumerate(_WIDTHS):
        before = target.attend.calls
        block = target.forward(tokens[row : row + width], caches)
        if target.attend.calls - before < attending or not mx.array_equal(block, alone[row : row + width]).item():
            return False
        caches.rewind(width - 1)
    return True


def _next_to_others(target: Target, alone: mx.array) -> bool:
    """Return whether a pass of three streams gives the same bits.

    It has more rows than a block, if that is possible.
    """
    assert target.most_rows is not None
    tokens, rows, before = _tokens(target, alone.shape[0]), (min(target.most_rows - 6, max(_WIDTHS)), 1, 5), (0, 13, 3)
    caches = []
    for start in before:
        caches.append(_start(target))
        if start:
            mx.eval(target.forward(tokens[:start], caches[-1]))
    streams = [StreamRows(tokens[at : at + own], held) for at, own, held in zip(before, rows, caches, strict=True)]
    found = target.forward_packed(streams, tapped=False)
    return all(
        mx.array_equal(logits, alone[at : at + own]).item() for (logits, _), at, own in zip(found, before, rows, strict=True)
    )
