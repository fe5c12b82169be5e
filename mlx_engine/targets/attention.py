"""The attention that mlx-lm's models call: per stream, row-exact, or mlx-lm's."""

import sys
from collections.abc import Iterable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import base

from mlx_engine.targets import exact
from mlx_engine.targets.packed import PackedHeads, masks_of


def attention(
    queries: mx.array,
    keys: Any,
    values: Any,
    cache: Any,
    scale: float,
    mask: Any,
    sinks: mx.array | None = None,
) -> mx.array:
    """Compute attention of queries [1, Hq, S, D].

    Args:
        queries: of all rows of the pass.
        keys: from a cache. `PackedHeads` if the pass has several streams; a `RowExactPass` recognizes its own.
        values: as `keys`.
        cache: the layer's cache object; None if the layer shares another one's keys.
        scale: factor of the scores.
        mask: of the pass.
        sinks: one per head.
    """
    if isinstance(keys, PackedHeads):
        each = zip(keys.packing.split(queries, axis=2), keys.parts, values.parts, masks_of(mask, keys.packing), strict=True)
        return mx.concatenate([attention(q, k, v, None, scale, own, sinks) for q, k, v, own in each], axis=2)
    found = exact.pass_of(keys)
    if found is not None:
        return found.attend(queries, scale, sinks)
    out: mx.array = base.scaled_dot_product_attention(queries, keys, values, cache=cache, scale=scale, mask=mask, sinks=sinks)
    return out


def redirect_attention(modules: Iterable[nn.Module]) -> None:
    """Make the mlx-lm source modules that define these layers call `attention`."""
    for name in {type(part).__module__ for module in modules for part in module.modules()}:
        names = vars(sys.modules[name])
        if names.get("scaled_dot_product_attention") is base.scaled_dot_product_attention:
            names["scaled_dot_product_attention"] = attention
