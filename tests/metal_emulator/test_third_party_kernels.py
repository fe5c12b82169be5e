"""Third-party kernels give correct results: mlx-lm's and those in MLX's headers."""

import re

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models import gated_delta

from tests.metal_emulator import metal_kernel
from tests.metal_emulator.compiler import MLX_HEADERS


@pytest.fixture
def mlx_lm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide mlx-lm's gated delta module as on a Mac, on the emulator."""
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx.fast, "metal_kernel", metal_kernel)
    kernels = {
        "_gated_delta_kernel": gated_delta._make_gated_delta_kernel(has_mask=False, vectorized=False),
        "_gated_delta_kernel_masked": gated_delta._make_gated_delta_kernel(has_mask=True, vectorized=False),
        "_gated_delta_kernel_vec": gated_delta._make_gated_delta_kernel(has_mask=False, vectorized=True),
        "_gated_delta_kernel_vec_masked": gated_delta._make_gated_delta_kernel(has_mask=True, vectorized=True),
        "_gated_delta_kernel_xtree": gated_delta._make_gated_delta_kernel_xtree(),
        "_gated_delta_kernel_packed": gated_delta._make_gated_delta_packed_kernel(),
    }
    unset = {name for name, value in vars(gated_delta).items() if name.startswith("_gated_delta_kernel") and value is None}
    assert unset == set(kernels), "mlx-lm has kernels that this test does not cover"
    for name, kernel in kernels.items():
        monkeypatch.setattr(gated_delta, name, kernel)


def exact(q, k, v, g, beta, state, mask):
    """Compute the recurrence in float64, with a gate g per head or per key channel.

    See arXiv 2412.06464, equation 10.
    """
    q, k, v, g, beta, state = (np.array(a.astype(mx.float32), np.float64) for a in (q, k, v, g, beta, state))
    mask = np.ones(q.shape[:2], bool) if mask is None else np.array(mask)
    share = v.shape[2] // k.shape[2]
    q, k = (np.repeat(a, share, 2) for a in (q, k))
    outputs = np.zeros(v.shape)
    for b, t in np.ndindex(*mask.shape):
        if not mask[b, t]:
            continue
        for h in range(v.shape[2]):
            s = state[b, h] * (g[b, t, h] if g.ndim == 3 else g[b, t, h][None])
            s = s + np.outer((v[b, t, h] - s @ k[b, t, h]) * beta[b, t, h], k[b, t, h])
            state[b, h], outputs[b, t, h] = s, s @ q[b, t, h]
    return outputs, state


@pytest.mark.parametrize("dtype", [mx.bfloat16, pytest.param(mx.float32, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("function", "vector", "masked", "key_dim"),
    [
        (gated_delta.gated_delta_kernel, False, False, 64),
        (gated_delta.gated_delta_kernel, False, True, 64),
        (gated_delta.gated_delta_kernel, True, False, 64),
        (gated_delta.gated_delta_kernel, True, True, 64),
        (gated_delta.gated_delta_kernel_unpacked, False, False, 128),
        (gated_delta.gated_delta_kernel_xtree, False, False, 128),
        (gated_delta.gated_delta_kernel, False, False, 128),  # packed
    ],
)
def test_the_gated_delta_kernels_of_mlx_lm(mlx_lm, dtype, function, vector, masked, key_dim) -> None:
    batch, rows, key_heads, heads, value_dim = 2, 3, 1, 2, 16
    mx.random.seed(7)
    q, k = (mx.random.normal((batch, rows, key_heads, key_dim)).astype(dtype) / key_dim**0.5 for _ in range(2))
    v = mx.random.normal((batch, rows, heads, value_dim)).astype(dtype)
    g = mx.random.uniform(0.5, 1, (batch, rows, heads, key_dim) if vector else (batch, rows, heads))
    beta = mx.random.uniform(0, 1, (batch, rows, heads)).astype(dtype)
    state = mx.random.normal((batch, heads, value_dim, key_dim))
    mask = mx.array([[True, False, True], [True, True, False]]) if masked else None
    outputs, after = function(q, k, v, g, beta, state, mask)
    want_outputs, want_after = exact(q, k, v, g, beta, state, mask)
    # float32 sums of up to 128 terms below 1: 128 roundings of 2^-24 are 8e-6. Outputs are rounded again, by half an ulp.
    np.testing.assert_allclose(np.array(after), want_after, rtol=1e-5, atol=1e-5)
    # bfloat16 has 8 significant bits, so half an ulp is at most 2^-8 of the value. float32 as above.
    rounding = {mx.float32: 1e-5, mx.bfloat16: 2**-8}[dtype]
    np.testing.assert_allclose(np.array(outputs.astype(mx.float32)), want_outputs, rtol=rounding, atol=1e-5)


def header(*names: str) -> str:
    """Return the MLX wheel's kernel headers, joined as in MLX's own compilation."""
    texts, seen = [], {"utils.h"}

    def paste(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        kept = [f'#line 1 "{name}"']
        for line in (MLX_HEADERS / "mlx/backend/metal/kernels" / name).read_text(encoding="utf-8").splitlines():
            if included := re.match(r'\s*#include "mlx/backend/metal/kernels/(.+)"', line):
                paste(included[1])
            kept.append("" if re.match(r"\s*#(include|pragma once)", line) else line)
        texts.append("\n".join(kept))

    for name in names:
        paste(name)
    return "\n".join(texts) + "\n"


@pytest.mark.parametrize("dtype", [mx.bfloat16, *(pytest.param(each, marks=pytest.mark.long) for each in (mx.float32, mx.float16))])
@pytest.mark.parametrize(("kernel", "size"), [("softmax_single_row", 511), ("softmax_looped", 1500)])
def test_the_softmax_kernels_of_mlx(dtype, kernel, size) -> None:
    mx.random.seed(size)
    x = (3 * mx.random.normal((5, size))).astype(dtype)
    run = metal_kernel(
        name="softmax",
        input_names=["x", "size"],
        output_names=["y"],
        header=header("softmax.h"),
        source=f"{kernel}<T, float>(x, y, size, threadgroup_position_in_grid.x, thread_position_in_threadgroup.x,"
        + ("threads_per_threadgroup.x," if kernel == "softmax_looped" else "")
        + "thread_index_in_simdgroup, simdgroup_index_in_threadgroup);",
    )
    # softmax_looped needs whole simdgroups: each lane reads the sum of one simdgroup
    (y,) = run(
        inputs=[x, size],
        template=[("T", dtype)],
        grid=(5 * 1024, 1, 1) if kernel == "softmax_looped" else (5 * 128, 1, 1),
        threadgroup=(1024, 1, 1) if kernel == "softmax_looped" else (128, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[dtype],
    )
    x64 = np.array(x.astype(mx.float32), np.float64)
    want = np.exp(x64 - x64.max(-1, keepdims=True))
    want /= want.sum(-1, keepdims=True)
    # Half an ulp of the output. In float32, the exponential (2 ulp) and the sum lose more than that.
    tolerance = {mx.float32: 1e-6, mx.float16: 2**-11, mx.bfloat16: 2**-8}[dtype]
    np.testing.assert_allclose(np.array(y.astype(mx.float32)), want, rtol=1.01 * tolerance, atol=2**-24)


@pytest.mark.parametrize(("dtype", "length", "dim"), [(mx.float32, 70, 64), (mx.bfloat16, 5, 128)])
def test_the_attention_kernel_of_mlx(dtype, length, dim) -> None:
    mx.random.seed(length)
    heads, shared = 4, 2
    q = mx.random.normal((1, heads, 1, dim)).astype(dtype)
    k, v = (mx.random.normal((1, heads // shared, length, dim)).astype(dtype) for _ in range(2))
    scale = dim**-0.5
    run = metal_kernel(
        name="sdpa",
        input_names=["q", "k", "v", "shared", "size", "strides", "scale"],
        output_names=["y"],
        header=header("sdpa_vector.h"),
        source="""
            const size_t head = strides[0], row = strides[1];
            const int zero = 0;
            const device bool* no_mask = nullptr;
            sdpa_vector<T, D>(q, k, v, y, shared, size, head, row, head, row, scale, no_mask, (const device T*)nullptr, zero, zero,
                              zero, (const device T*)nullptr, zero, threadgroup_position_in_grid, threadgroups_per_grid,
                              simdgroup_index_in_threadgroup, thread_index_in_simdgroup);
        """,
    )
    (y,) = run(
        inputs=[q, k, v, shared, length, mx.array([length * dim, dim]), scale],
        template=[("T", dtype), ("D", dim)],
        grid=(1024 * heads, 1, 1),
        threadgroup=(1024, 1, 1),
        output_shapes=[q.shape],
        output_dtypes=[dtype],
    )
    q64, k64, v64 = (np.array(a.astype(mx.float32), np.float64)[0] for a in (q, k, v))
    scores = scale * np.einsum("hqd,hkd->hqk", q64, np.repeat(k64, shared, 0))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = np.einsum("hqk,hkd->hqd", weights / weights.sum(-1, keepdims=True), np.repeat(v64, shared, 0))[None]
    # Half an ulp of bfloat16. In float32: exponentials (2 ulp of 1.2e-7) and sums of up to 128 terms, by simdgroups of 32 lanes.
    tolerance = {mx.float32: 2e-6, mx.bfloat16: 2**-8}[dtype]
    np.testing.assert_allclose(np.array(y.astype(mx.float32)), want, rtol=tolerance, atol=2e-6)
