"""Call every kernel in all variants of its text.

These differ in dtypes, settings, and whether arrays are small enough to arrive as `constant`.
"""

from typing import Any

import mlx.core as mx

from mlx_engine.kernels import (
    attention_inputs,
    block_verify,
    delta_inputs,
    gated_delta_replay,
    kv_injection,
    verify_attention,
    verify_matmul,
)


def call_matmul(build: Any, dtype: mx.Dtype) -> None:
    for rows, columns, depth in ((1, 2, 9), (1, 16, 1024), (16, 2048, 128)):
        x, weight = mx.zeros((rows, depth), dtype), mx.zeros((columns, depth), dtype)
        for gated in (False, True):
            for residual in (None, mx.zeros((rows, columns // (2 if gated else 1)), dtype)):
                verify_matmul.metal(x, weight, residual=residual, gated=gated, build=build)
                for group in (group for group in (32, 64, 128) if depth % group == 0):
                    for bits in (4, 8):
                        packed, scales, biases = mx.quantize(weight, group, bits)
                        verify_matmul.metal(x, packed, scales, biases, group, bits, residual, gated, build=build)


def call_attention(build: Any, dtype: mx.Dtype) -> None:
    cases = ((1, 1, 1, 32, 1), (2, 2, 1, 64, 16), (8, 2, 16, 128, 512), (4, 1, 16, 80, 256), (4, 2, 16, 256, 256))
    for heads, kv_heads, rows, dim, capacity in cases:
        queries, keys = mx.zeros((1, heads, rows, dim), dtype), mx.zeros((1, kv_heads, capacity, dim), dtype)
        for window in (0, 4):
            for sinks in (None, mx.zeros((heads,), dtype)):
                length = mx.array([rows], mx.int32)
                for row_exact in (False, True):
                    verify_attention.metal(queries, keys, keys, length, 1.0, True, window, sinks, row_exact=row_exact, build=build)


def call_gated_delta(build: Any, dtype: mx.Dtype) -> None:
    for key_heads, key_dim, value_heads, value_dim, rows in ((1, 32, 1, 1, 1), (2, 128, 4, 128, 16), (1, 256, 2, 64, 16)):
        tape = gated_delta_replay.Tape.empty(key_heads, key_dim, value_heads, value_dim, dtype)
        keys, values = mx.zeros((1, rows, key_heads, key_dim), dtype), mx.zeros((1, rows, value_heads, value_dim), dtype)
        decay, beta = mx.zeros((1, rows, value_heads)), mx.zeros((1, rows, value_heads), dtype)
        state = mx.zeros((1, value_heads, value_dim, key_dim))
        gated_delta_replay.metal(keys, keys, values, decay, beta, state, tape, 1, build=build)


def call_delta_inputs(build: Any, dtype: mx.Dtype) -> None:
    for heads, rows, taps in ((delta_inputs.DeltaHeads(1, 16, 1, 16), 1, 2), (delta_inputs.DeltaHeads(2, 128, 8, 128), 16, 4)):
        for rate in {dtype, mx.float32}:
            delta_inputs.metal(
                mx.zeros((rows, heads.columns), dtype),
                mx.zeros((1, taps + 3, heads.channels), dtype),
                mx.zeros((heads.channels, taps, 1), dtype),
                mx.zeros((heads.values,), rate),
                mx.zeros((heads.values,), rate),
                heads,
                build=build,
            )


def call_heads(build: Any, dtype: mx.Dtype) -> None:
    for dim, rotated, rows, heads, kv_heads in ((16, 2, 1, 1, 1), (128, 128, 16, 8, 2), (256, 64, 16, 4, 2), (512, 512, 1, 1, 1)):
        for gated in (False, True):
            projected = mx.zeros((rows, (heads * (2 if gated else 1) + 2 * kv_heads) * dim), dtype)
            norm = mx.zeros((dim,), dtype)
            attention_inputs.metal(projected, norm, norm, mx.ones((rotated // 2,)), 0, heads, 1e-6, 1.0, gated, build=build)
        projected = mx.zeros((rows, 1, 2, kv_heads, dim), dtype)
        kv_injection.metal(projected, mx.zeros((1, dim), dtype), mx.ones((dim // 2,)), 0, 1e-6, build=build)


def call_block_verify(build: Any, dtype: mx.Dtype) -> None:
    for rows, vocabulary in ((1, 8), (2, 9000), (16, 70000)):
        drafts = mx.zeros((rows - 1,), mx.uint32) if rows > 1 else None
        logits = mx.zeros((rows, vocabulary), dtype)
        draw = block_verify.Draw(0.5, logits, mx.array([1, 2], mx.uint32), mx.array([3], mx.uint32))
        for how in (None, draw):
            block_verify.metal(logits, drafts, how, build=build)


CALLS = (call_matmul, call_attention, call_gated_delta, call_delta_inputs, call_heads, call_block_verify)
