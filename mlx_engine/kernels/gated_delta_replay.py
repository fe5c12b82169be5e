"""Gated delta replay: the state of a gated delta net after the kept rows of a block whose other rows were rejected.

The recurrence (arXiv 2412.06464) overwrites its state row by row, so rejected rows cannot be trimmed. From the state before the
block and the block's convolved inputs the kept rows are run once more; no projection is computed twice.
"""

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.gated_delta import gated_delta_update, normalize_qk


def reference(
    convolved: mx.array,
    a: mx.array,
    b: mx.array,
    a_log: mx.array,
    dt_bias: mx.array,
    state: mx.array | None,
    key_heads: int,
    key_dim: int,
) -> mx.array:
    """Plain MLX version.

    Args:
        convolved: what the short convolution gave for the S kept rows, before its activation: queries, keys, values,
            [1, S, 2 * Hk * Dk + Hv * Dv].
        a: decay inputs, [1, S, Hv], as projected.
        b: write strength inputs, [1, S, Hv], as projected.
        a_log: [Hv], float32.
        dt_bias: [Hv].
        state: before the block, [1, Hv, Dv, Dk] float32; None for zeros.
        key_heads: Hk.
        key_dim: Dk.

    Returns:
        The state after the S rows, [1, Hv, Dv, Dk] float32.
    """
    rows, width = convolved.shape[1], key_heads * key_dim
    _, keys, values = mx.split(nn.silu(convolved), [width, 2 * width], axis=-1)
    keys = keys.reshape(1, rows, key_heads, key_dim)
    values = values.reshape(1, rows, a.shape[-1], -1)
    _, keys = normalize_qk(keys, keys, inv_scale=key_dim**-0.5, eps=1e-6)
    # queries shape only the output, which nobody reads here
    return gated_delta_update(keys, keys, values, a, b, a_log, dt_bias, state)[1]
