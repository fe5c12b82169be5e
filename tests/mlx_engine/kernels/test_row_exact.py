"""Every kernel of row-exact passes gives a row the same bits, alone and in a block, whatever the other rows hold."""

import mlx.core as mx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlx_engine.kernels import attention_inputs, block_verify, delta_inputs, gated_delta_replay, verify_attention, verify_matmul
from mlx_engine.kernels.block_verify import Draw
from mlx_engine.kernels.delta_inputs import DeltaHeads
from mlx_engine.kernels.gated_delta_replay import Tape
from mlx_engine.kernels.operations import ROW_EXACT
from tests.examples import sampled
from tests.metal_emulator import kernel, metal_kernel
from tests.metal_emulator.compiler import compilers

DTYPES = st.sampled_from([mx.float32, mx.float16, mx.bfloat16])
ROWS, SEED = st.integers(2, 16), st.integers(0, 999)
few = settings(
    sampled(2, whole=50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True, params=compilers(), ids=str)
def one_compiler(request, monkeypatch):
    """Run each kernel with one compiler and one thread schedule; the kernels' own tests compare schedules."""
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])
    monkeypatch.setattr(kernel, "compilers", lambda: (request.param,))


def same(a, b):
    words = {4: mx.uint32, 2: mx.uint16}[a.dtype.size]
    return a.shape == b.shape and mx.array_equal(mx.contiguous(a).view(words), mx.contiguous(b).view(words)).item()


def loud(shape, dtype, key):
    """Random rows of very different sizes."""
    rows, columns = mx.random.split(mx.random.key(key))
    return (mx.random.normal(shape, key=rows) * 10 ** mx.random.uniform(-2, 2, (*shape[:-1], 1), key=columns)).astype(dtype)


@few
@given(
    dtype=DTYPES, rows=ROWS, other=ROWS, at=st.integers(0, 15), seed=SEED,
    kind=st.sampled_from([None, (4, 32), (4, 64), (8, 64), (8, 128)]),
    columns=st.sampled_from([1, 24, 40, 136, 2056]), depth=st.sampled_from([128, 384, 640]), tail=st.sampled_from([0, 5]),
    gated=st.booleans(), added=st.booleans(),
)  # fmt: skip
def test_verify_matmul(dtype, rows, other, at, seed, kind, columns, depth, tail, gated, added):
    """Also in a second block of another number of rows, which may be compiled for another number of fragments."""
    columns += columns % 2
    depth += tail if kind is None else 0
    weight = loud((columns, depth), dtype, seed)
    packed = (weight, None, None, 64, 4) if kind is None else (*mx.quantize(weight, kind[1], kind[0]), kind[1], kind[0])
    results = []
    row, residual = loud((1, depth), dtype, seed + 1), loud((1, columns // 2 if gated else columns), dtype, seed + 2)
    for count, place in ((1, 0), (rows, at % rows), (other, (at + 7) % other)):
        x, extra = loud((count, depth), dtype, seed + count), loud((count, residual.shape[1]), dtype, seed + count + 1)
        x[place], extra[place] = row[0], residual[0]
        results.append(verify_matmul.metal(x, *packed, extra if added else None, gated, build=metal_kernel)[place])
    assert same(results[0], results[1]) and same(results[0], results[2])


def attention_row(dtype, dim, shape, before, window, sinks, seed, row_exact=True):
    """A function that attends from one position, which is row `index` of a block of `count` rows whose later rows are others.

    The buffers begin at position `first` and have `spare` rows more.
    """
    kv_heads, heads = shape[0], shape[0] * shape[1]

    def drawn(heads, rows, key):
        return mx.random.normal((1, heads, rows, dim), key=mx.random.key(key)).astype(dtype)

    queries, keys, values = (drawn(count, before + 1, seed + i) for i, count in enumerate((heads, kv_heads, kv_heads)))
    sink = mx.random.normal((heads,), key=mx.random.key(seed)).astype(dtype) if sinks else None

    def attend(count=1, index=0, first=0, spare=0):
        later = count - index - 1
        block = mx.concatenate([queries[:, :, before - index :], drawn(heads, later, seed + 5)], axis=2)
        held = [mx.concatenate([each[:, :, first:], drawn(kv_heads, later + spare, seed + 6)], axis=2) for each in (keys, values)]
        length = mx.array([before + 1 + later - first], mx.int32)
        how = {"row_exact": row_exact, "build": metal_kernel}
        return verify_attention.metal(block, *held, length, dim**-0.5, True, window, sink, **how)[:, :, index]

    return attend


@few
@given(
    dtype=DTYPES, dim=st.sampled_from(verify_attention.HEAD_DIMS), shape=st.sampled_from([(1, 1), (1, 6), (2, 4), (3, 1)]),
    rows=ROWS, other=ROWS, before=st.integers(15, 800), spare=st.integers(0, 300), moved=st.integers(0, 2),
    window=st.sampled_from([0, 0, 1, 7, 100, 300]), sinks=st.booleans(), seed=SEED,
)  # fmt: skip
def test_verify_attention(dtype, dim, shape, rows, other, before, spare, moved, window, sinks, seed):
    """Also in buffers of other sizes, which begin at other multiples of `PART`."""
    attend = attention_row(dtype, dim, shape, before, window, sinks, seed)
    part = verify_attention.PART
    first = max(0, before - 15 - window + 1) // part * part if window else 0
    alone = attend()
    assert same(alone, attend(rows, seed % rows, max(0, first - part * moved), spare))
    assert same(alone, attend(other, other - 1, first, spare // 2))


def test_the_fast_attention_is_not_row_exact():
    """Otherwise the test above would show nothing."""
    attend = attention_row(mx.float32, 64, (2, 4), 1023, 0, False, 3, row_exact=False)
    assert not same(attend(), attend(16, 3))


@few
@given(
    dtype=DTYPES, rows=ROWS, at=st.integers(0, 15), first=st.integers(0, 100_000), dim=st.sampled_from([64, 128, 256]),
    gated=st.booleans(), seed=SEED,
)  # fmt: skip
def test_attention_inputs(dtype, rows, at, first, dim, gated, seed):
    row, heads = at % rows, 2
    projected = loud((rows, ((2 if gated else 1) * heads + 2) * dim), dtype, seed)
    norms = [(1 + 0.1 * mx.random.normal((dim,))).astype(dtype) for _ in range(2)]
    how = (*norms, 1e6 ** (mx.arange(dim // 4) / (dim // 4)))
    block = attention_inputs.metal(projected, *how, first, heads, 1e-6, 1.0, gated, build=metal_kernel)
    alone = attention_inputs.metal(projected[row : row + 1], *how, first + row, heads, 1e-6, 1.0, gated, build=metal_kernel)
    assert all(same(one, many[:, :, row : row + 1]) for one, many in zip(alone, block, strict=True))


@few
@given(dtype=DTYPES, rows=ROWS, width=st.integers(2, 5), seed=SEED)
def test_delta_inputs(dtype, rows, width, seed):
    """A row reads the rows before it through the convolution, so each runs alone after the others."""
    heads = DeltaHeads(2, 32, 4, 16)
    projected, held = loud((rows, heads.columns), dtype, seed), loud((1, width - 1, heads.channels), dtype, seed + 1)
    taps = loud((heads.channels, width, 1), dtype, seed + 2)
    rates = mx.random.normal((heads.values,)), mx.random.normal((heads.values,)).astype(dtype)
    block = delta_inputs.metal(projected, held, taps, *rates, heads, build=metal_kernel)
    for row in range(rows):
        alone = delta_inputs.metal(projected[row : row + 1], held, taps, *rates, heads, build=metal_kernel)
        for name in ("queries", "keys", "values", "decay", "beta"):
            assert same(getattr(alone, name), getattr(block, name)[:, row : row + 1]), name
        held = alone.convolved[:, 1:]


@few
@given(dtype=DTYPES, rows=ROWS, old=st.integers(1, 16), data=st.data(), seed=SEED)
def test_gated_delta_replay(dtype, rows, old, data, seed):
    """A row reads the state, so each runs alone after the others, also behind the kept rows of an earlier block."""
    key_heads, value_heads, dim, value_dim = 2, 4, 32, 16
    kept = data.draw(st.integers(0, old), label="kept")

    def drawn(count, key):
        keys = mx.random.split(mx.random.key(key), 5)
        queries, own = (mx.random.normal((1, count, key_heads, dim), key=each) / 6 for each in keys[:2])
        values, strength = (
            loud((1, count, value_heads, value_dim), dtype, key),
            mx.random.uniform(0, 1, (1, count, value_heads), key=keys[3]),
        )
        decay = mx.random.uniform(0.5, 1, (1, count, value_heads), key=keys[4])
        return queries.astype(dtype), own.astype(dtype), values, decay, strength.astype(dtype)

    def run(arrays, state, tape, count):
        return gated_delta_replay.metal(*arrays, state, tape, count, build=metal_kernel)

    state = mx.random.normal((1, value_heads, value_dim, dim), key=mx.random.key(seed))
    _, *tape = drawn(old, seed + 1)
    block = drawn(rows, seed + 2)
    read, _, _ = run(block, state, Tape(*tape), kept)
    left, count = Tape(*tape), kept
    for row in range(rows):
        one, state, left = run([each[:, row : row + 1] for each in block], state, left, count)
        count = 1
        assert same(one, read[:, row : row + 1]), row


@few
@given(dtype=DTYPES, rows=ROWS, at=st.integers(0, 15), temperature=st.sampled_from([None, 0.8]), seed=SEED)
def test_block_verify(dtype, rows, at, temperature, seed):
    """Chooses the tokens in exact replies too, if it is selected."""
    row, vocabulary = at % rows, 300
    logits, drafts = loud((rows, vocabulary), dtype, seed), mx.zeros((rows - 1,), mx.uint32)
    noise = mx.random.normal((rows, vocabulary), key=mx.random.key(seed))

    def draw(first, count):
        words = mx.array([seed, 3], mx.uint32)
        return Draw(temperature, noise[first : first + count], words, mx.array([7 + first], mx.uint32)) if temperature else None

    block = block_verify.metal(logits, drafts, draw(0, rows), build=metal_kernel)
    alone = block_verify.metal(logits[row : row + 1], None, draw(row, 1), build=metal_kernel)
    assert alone.choices.item() == block.choices[row].item()


def test_each_kernel_of_row_exact_passes_has_a_test():
    assert all(f"test_{name}" in globals() for name in ROW_EXACT)
