"""Calls of every kernel in all variants of its text, with random arguments.

The texts differ in dtypes, settings, and whether arrays are small enough to arrive as `constant`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.decoding import noise
from mlx_engine.kernels import block_verify, delta_inputs, gated_delta_replay
from mlx_engine.kernels.operations import KERNELS

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}


@dataclass(frozen=True)
class KernelCall:
    """The arguments of one call, which are the same for `metal` and `reference`."""

    kernel: str
    arguments: tuple[Any, ...]
    row_exact: bool = False  # only `verify_attention` has another text for it

    def metal(self, build: Any) -> Any:
        how = {"row_exact": True} if self.row_exact else {}
        return KERNELS[self.kernel].metal(*self.arguments, build=build, **how)


def calls(kernel: str, dtype: mx.Dtype) -> Iterator[KernelCall]:
    """Yield the calls of a kernel, with the same numbers every time."""
    mx.random.seed(1)
    for arguments in _ARGUMENTS[kernel](dtype):
        yield KernelCall(kernel, arguments)
        if kernel == "verify_attention":
            yield KernelCall(kernel, arguments, row_exact=True)


def _random(dtype: mx.Dtype, *shape: int) -> mx.array:
    return mx.random.normal(shape).astype(dtype)


def _norm(dtype: mx.Dtype, *shape: int) -> mx.array:
    return (1 + 0.1 * mx.random.normal(shape)).astype(dtype)


def _frequencies(dim: int) -> mx.array:
    return 10000.0 ** (mx.arange(0, dim, 2, dtype=mx.float32) / dim)


def _verify_matmul(dtype: mx.Dtype) -> Iterator[tuple]:
    for rows, columns, depth in ((1, 2, 9), (1, 16, 1024), (16, 2048, 128)):
        x, weight = _random(dtype, rows, depth), _random(dtype, columns, depth)
        for gated in (False, True):
            for residual in (None, _random(dtype, rows, columns // (2 if gated else 1))):
                yield x, weight, None, None, 64, 4, residual, gated
                for group in (group for group in (32, 64, 128) if depth % group == 0):
                    for bits in (4, 8):
                        yield x, *mx.quantize(weight, group, bits), group, bits, residual, gated


def _verify_attention(dtype: mx.Dtype) -> Iterator[tuple]:
    cases = ((1, 1, 1, 32, 1), (2, 2, 1, 64, 16), (8, 2, 16, 128, 512), (4, 1, 16, 80, 256), (4, 2, 16, 256, 256))
    for heads, kv_heads, rows, dim, capacity in cases:
        queries = _random(dtype, 1, heads, rows, dim)
        keys, values = (_random(dtype, 1, kv_heads, capacity, dim) for _ in range(2))
        for window in (0, 4):
            for sinks in (None, _random(dtype, heads)):
                yield queries, keys, values, mx.array([capacity], mx.int32), dim**-0.5, True, window, sinks


def _gated_delta_replay(dtype: mx.Dtype) -> Iterator[tuple]:
    for key_heads, key_dim, value_heads, value_dim, rows in ((1, 32, 1, 1, 1), (2, 128, 4, 128, 16), (1, 256, 2, 64, 16)):
        pair = [mx.random.normal((1, rows, key_heads, key_dim)) for _ in range(2)]
        queries, keys = ((one / mx.linalg.norm(one, axis=-1, keepdims=True)).astype(dtype) for one in pair)
        values, beta = _random(dtype, 1, rows, value_heads, value_dim), mx.random.uniform(shape=(1, rows, value_heads))
        decay = mx.random.uniform(0.8, 1.0, (1, rows, value_heads))
        state = 0.1 * mx.random.normal((1, value_heads, value_dim, key_dim))
        empty = gated_delta_replay.Tape.empty(key_heads, key_dim, value_heads, value_dim, dtype)
        for tape in (empty, gated_delta_replay.Tape(keys, values, decay, beta.astype(dtype))):
            yield queries, keys, values, decay, beta.astype(dtype), state, tape, 1


def _delta_inputs(dtype: mx.Dtype) -> Iterator[tuple]:
    for heads, rows, taps in ((delta_inputs.DeltaHeads(1, 16, 1, 16), 1, 2), (delta_inputs.DeltaHeads(2, 128, 8, 128), 16, 4)):
        projected, held = _random(dtype, rows, heads.columns), _random(dtype, 1, taps + 3, heads.channels)
        for rate in dict.fromkeys((dtype, mx.float32)):
            log_rate, bias = _random(rate, heads.values), _random(rate, heads.values)
            yield projected, held, _random(dtype, heads.channels, taps, 1), log_rate, bias, heads


_HEADS = ((16, 2, 1, 1, 1), (128, 128, 16, 8, 2), (256, 64, 16, 4, 2), (512, 512, 1, 1, 1))


def _attention_inputs(dtype: mx.Dtype) -> Iterator[tuple]:
    for dim, rotated, rows, heads, kv_heads in _HEADS:
        for gated in (False, True):
            projected = _random(dtype, rows, (heads * (2 if gated else 1) + 2 * kv_heads) * dim)
            yield projected, _norm(dtype, dim), _norm(dtype, dim), _frequencies(rotated), 37, heads, 1e-6, 1.0, gated


def _kv_injection(dtype: mx.Dtype) -> Iterator[tuple]:
    for dim, _, rows, _, kv_heads in _HEADS:
        yield _random(dtype, rows, 1, 2, kv_heads, dim), _norm(dtype, 1, dim), _frequencies(dim), 37, 1e-6


def _block_verify(dtype: mx.Dtype) -> Iterator[tuple]:
    seed, first = 987654321, 40
    words = mx.array([seed & 0xFFFFFFFF, seed >> 32], mx.uint32)
    for rows, vocabulary in ((1, 8), (2, 9000), (16, 70000)):
        logits = _random(dtype, rows, vocabulary) * 4
        sampled = block_verify.Draw(0.5, noise.gumbel(seed, first, rows, vocabulary), words, mx.array([first], mx.uint32))
        for draw in (None, sampled):
            choices = block_verify.reference(logits, None, draw).choices[:-1]
            drafts = mx.where(mx.arange(rows - 1) == 9, choices + 1, choices).astype(mx.uint32)  # the tenth is wrong
            yield logits, drafts if rows > 1 else None, draw


_ALL = (_attention_inputs, _block_verify, _delta_inputs, _gated_delta_replay, _kv_injection, _verify_attention, _verify_matmul)
_ARGUMENTS: dict[str, Callable[[mx.Dtype], Iterator[tuple]]] = {one.__name__.removeprefix("_"): one for one in _ALL}
