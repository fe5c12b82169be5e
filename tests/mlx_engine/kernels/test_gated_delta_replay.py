"""gated_delta_replay compared with float64 numpy, in the emulator: the state depends only on the kept rows."""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx_lm.models.gated_delta import gated_delta_ops

from mlx_engine.kernels import gated_delta_replay
from mlx_engine.kernels.gated_delta_replay import Tape
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import ROUNDING, float64

DTYPES = [mx.float32, mx.float16, mx.bfloat16]


class Net:
    """Random blocks of a net, and the recurrence in float64 over the kept rows."""

    def __init__(self, dtype, key_heads, grouped, key_dim, value_dim, seed=0):
        self.dtype, self.key, self.value = dtype, (key_heads, key_dim), (key_heads * grouped, value_dim)
        self.state = np.zeros((self.value[0], value_dim, key_dim))
        mx.random.seed(seed)

    def block(self, rows):
        """Random queries, keys, values, decay and beta, as large as a net's norms and gates make them."""
        queries, keys = (mx.random.normal((1, rows, *self.key)) for _ in range(2))
        keys = keys / mx.linalg.norm(keys, axis=-1, keepdims=True)
        queries = queries * self.key[1] ** -1.0
        values = mx.random.normal((1, rows, *self.value))
        beta = mx.random.uniform(0, 1, (1, rows, self.value[0]))
        decay = mx.random.uniform(0.5, 1, (1, rows, self.value[0]))
        queries, keys, values, beta = (array.astype(self.dtype) for array in (queries, keys, values, beta))
        return queries, keys, values, decay, beta

    def run(self, block, rows):
        """Return what the first `rows` rows read, and the state after them."""
        queries, keys, values, decay, beta = (float64(array)[0, :rows] for array in block)
        queries, keys = (np.repeat(array, self.value[0] // self.key[0], 1) for array in (queries, keys))
        state, read = self.state.copy(), np.zeros(values.shape)
        for t in range(rows):
            state *= decay[t][:, None, None]
            delta = (values[t] - np.einsum("hvk,hk->hv", state, keys[t])) * beta[t][:, None]
            state += delta[..., None] * keys[t][:, None]
            read[t] = np.einsum("hvk,hk->hv", state, queries[t])
        return read, state

    def start(self):
        """State, tape and kept rows before the first block."""
        state = mx.zeros((1, *self.value, self.key[1]))
        return state, Tape.empty(*self.key, *self.value, self.dtype), mx.array([0], mx.int32)


def close(found, want, dtype=mx.float32):
    """The allowed error: float32 sums of up to 256 numbers near one, and a rounding. The decay keeps errors from growing."""
    np.testing.assert_allclose(float64(found)[0], want, rtol=1.01 * ROUNDING[dtype], atol=1e-5)


def metal(*arguments):
    return gated_delta_replay.metal(*arguments, build=metal_kernel)


@pytest.mark.parametrize(("dtype", "shape"), [(mx.float32, (1, 3, 32, 12)), (mx.bfloat16, (1, 2, 128, 16))])
def test_only_kept_rows_count_over_many_rounds(dtype, shape):
    """Fifty rounds of any width, each keeping any number of rows."""
    net, choose = Net(dtype, *shape), np.random.default_rng(5)
    state, tape, kept = net.start()
    own_state, own_tape = state, tape
    for _ in range(50):
        block = net.block(int(choose.integers(1, 17)))
        read, state, tape = metal(*block, state, tape, kept)
        own_read, own_state, own_tape = gated_delta_replay.reference(*block, own_state, own_tape, kept)
        want, _ = net.run(block, tape.rows)
        for found in (state, own_state):
            close(found, net.state)
        for found in (read, own_read):
            close(found, want, dtype)
        kept = mx.array([int(choose.integers(0, tape.rows + 1))], mx.int32)
        net.state = net.run(block, kept.item())[1]


@pytest.mark.parametrize("key_dim", [64, pytest.param(96, marks=pytest.mark.long), pytest.param(256, marks=pytest.mark.long)])
@pytest.mark.parametrize("dtype", [mx.float16, *(pytest.param(d, marks=pytest.mark.long) for d in (mx.float32, mx.bfloat16))])
@settings(max_examples=settings.default.max_examples // 5)
@given(
    heads=st.sampled_from([(1, 1), (2, 1), (1, 4)]),
    value_dim=st.integers(1, 40),
    old=st.integers(1, 16),
    rows=st.integers(1, 16),
    data=st.data(),
)
def test_a_replay_repeats_its_rows_bit_for_bit(dtype, key_dim, heads, value_dim, old, rows, data):
    """The first rows of a block, and a block of only those rows, lead to the same state."""
    net = Net(dtype, heads[0], heads[1], key_dim, value_dim, seed=rows)
    kept = data.draw(st.integers(0, old), label="kept")
    first, second = net.block(old), net.block(rows)
    state, tape, none = net.start()
    read, before, tape = metal(*first, state, tape, none)
    assert mx.array_equal(before, state)
    want, net.state = net.run(first, old)[0], net.run(first, kept)[1]
    close(read, want, dtype)
    read, after, _ = metal(*second, state, tape, mx.array([kept], mx.int32))
    close(after, net.state)
    close(read, net.run(second, rows)[0], dtype)
    if kept:
        short = [array[:, :kept] for array in first]
        _, _, alone = metal(*short, *net.start())
        again, same, _ = metal(*second, state, alone, mx.array([kept], mx.int32))
        assert mx.array_equal(same, after)
        assert mx.array_equal(again, read)


def test_a_block_equals_mlx_lms():
    net = Net(mx.float32, 1, 2, 32, 8)
    queries, keys, values, decay, beta = net.block(6)
    state = mx.random.normal((1, 2, 8, 32))
    _, tape, kept = net.start()
    theirs, after = gated_delta_ops(queries, keys, values, decay, beta, state)
    for way in (metal, gated_delta_replay.reference):
        read, before, left = way(queries, keys, values, decay, beta, state, tape, kept)
        assert mx.array_equal(before, state)
        # the same float32 sums of 32 numbers near one, added in other orders, over six rows: some 1e-6
        np.testing.assert_allclose(np.array(read), np.array(theirs), atol=1e-5)
        np.testing.assert_allclose(np.array(gated_delta_replay.replay(state, left, 6)), np.array(after), atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kept", [0, 1, 5])
def test_a_count_on_the_device_gives_the_same_state_as_one_on_the_host(dtype, kept):
    """Bit for bit in the reference, too, which a rewind on the host uses."""
    net = Net(dtype, 2, 2, 32, 8)
    state, tape = mx.random.normal((1, 4, 8, 32)), Tape(*net.block(5)[1:])
    on_device = gated_delta_replay.replay(state, tape, mx.array([kept], mx.int32))
    assert mx.array_equal(on_device, gated_delta_replay.replay(state, tape, kept))


NET = Net(mx.float32, 2, 2, 64, 16)
BLOCK = dict(zip(("queries", "keys", "values", "decay", "beta"), NET.block(4), strict=True))
SUPPORTED = {**BLOCK, **dict(zip(("state", "tape", "kept"), NET.start(), strict=True))}


UNSUPPORTED = {
    "too many rows": {name: mx.concatenate([array] * 5, axis=1) for name, array in BLOCK.items()},
    "dtype": {"queries": SUPPORTED["queries"].astype(mx.int32)},
    "keys' dtype": {"keys": SUPPORTED["keys"].astype(mx.float16)},
    "state's dtype": {"state": SUPPORTED["state"].astype(mx.bfloat16)},
    "key dim": {"keys": SUPPORTED["keys"][..., :48]},
    "three dimensions": {"keys": SUPPORTED["keys"][0]},
    "two sequences": {name: mx.concatenate([array] * 2) for name, array in BLOCK.items()},
    "unequal groups of heads": {"values": SUPPORTED["values"][:, :, :3]},
    "beta's shape": {"beta": SUPPORTED["beta"][:, :3]},
    "tape's shape": {"tape": replace(SUPPORTED["tape"], values=mx.zeros((1, 2, 4, 16)))},
    "shape of kept": {"kept": mx.array(0, mx.int32)},
    "dtype of kept": {"kept": mx.array([0], mx.uint32)},
}


@pytest.mark.parametrize("change", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(change):
    assert gated_delta_replay.supports(**SUPPORTED)
    assert not gated_delta_replay.supports(**(SUPPORTED | change))
    with pytest.raises(ValueError, match="gated_delta_replay does not support"):
        gated_delta_replay.metal(**(SUPPORTED | change), build=metal_kernel)
