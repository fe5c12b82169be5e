"""K/V injection: context features become the keys and values of every drafter layer.

DFlash conditions its drafter by writing the target's fused hidden features into the K/V cache of *each* drafter layer
(arXiv 2602.06036, section 3.2). All layers see the same features, so their projections are one matrix product; what is left
(K norm, RoPE, layout) is this function.
"""

import mlx.core as mx


def reference(
    projected: mx.array, k_norm: mx.array, frequencies: mx.array, first_position: int, eps: float, scale: float = 1.0
) -> mx.array:
    """Plain MLX version.

    Args:
        projected: K and V of every layer, [S, L, 2, H, D], float16, bfloat16 or float32.
        k_norm: RMSNorm weights of the K heads, [L, D], same dtype.
        frequencies: positions per radian of each pair, [D / 2], float32.
        first_position: absolute position of row 0.
        eps: of the RMSNorm.
        scale: factor on the keys (yarn's attention factor).

    Returns:
        Keys and values, [2, L, H, S, D] in the dtype of `projected`: one slice update writes both to the cache.
    """
    dim = projected.shape[-1]
    keys = mx.fast.rms_norm(projected[:, :, 0], None, eps) * k_norm[None, :, None]
    keys = keys.transpose(1, 2, 0, 3)
    if scale != 1.0:
        keys = keys * scale
    keys = mx.fast.rope(keys, dim, traditional=False, base=None, scale=1.0, offset=first_position, freqs=frequencies)
    return mx.stack([keys, projected[:, :, 1].transpose(1, 2, 0, 3)])
