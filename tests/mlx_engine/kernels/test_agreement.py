"""Comparing a kernel with its reference on a pair's own arrays, and reporting what it gets wrong."""

from functools import partial
from types import SimpleNamespace

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import self_check
from mlx_engine.kernels import verify_attention, verify_matmul
from mlx_engine.kernels.agreement import MOST, Agreement, CheckedKernel, off_by
from mlx_engine.kernels.operations import KERNELS, PLAIN
from tests.metal_emulator import kernel, metal_kernel
from tests.mlx_engine.asking import reply, tokens

ASKED = tokens([5, 17, 40, 41, 42, 17, 40], seed=11, max_tokens=6, ignore_eos=True, width=4)


@pytest.fixture(autouse=True)
def one_schedule(monkeypatch):
    """Use one thread schedule; the kernels' own tests use several."""
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])


def spoilt(output: int, change):
    """Return a builder of kernels with one wrong output."""

    def build(name: str, **how):
        built = metal_kernel(name=name, **how)

        def run(**call):
            found = list(built(**call))
            found[output] = change(found[output])
            return found

        return run

    return build


@pytest.fixture(params=["tiny", "tiny2"])
def engine(request):
    engine = request.getfixturevalue(request.param)
    yield engine
    engine.pair.use(PLAIN)


DELTA = ("delta_inputs", "gated_delta_replay")  # of the second pair alone
PAIRED = [
    pytest.param(pair, name, marks=[] if (pair == "tiny2") == (name in DELTA) else [pytest.mark.long])
    for pair in ("tiny", "tiny2")
    for name in KERNELS
]


@pytest.mark.parametrize(("engine", "name"), PAIRED, indirect=["engine"])
def test_every_kernel_agrees_on_a_replys_arrays_and_does_not_change_the_text(engine, name):
    checked = CheckedKernel(name, build=metal_kernel)
    want = reply(engine, ASKED)
    engine.pair.use(checked.operations())
    assert reply(engine, ASKED).tokens == want.tokens
    seen = checked.agreement
    called = engine.pair.info.family == "qwen3_5" or name not in DELTA
    assert (seen.shapes > 0) == called
    assert not seen.wrong and seen.off <= MOST[mx.float32]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("kv_injection", lambda array: array * 1.01, "the result, "),
        ("kv_injection", lambda array: mx.where(array == array.max(), mx.nan, array), "off by inf"),
        ("verify_matmul", lambda array: mx.concatenate([array[:-1], array[-1:] + 0.1]), "the result, "),
        ("block_verify", lambda array: array + 1, "the choices, "),
    ],
)
def test_a_wrong_result_is_reported_with_shape_and_size(tiny, name, change, said):
    checked = CheckedKernel(name, build=spoilt(0, change))
    tiny.pair.use(checked.operations())
    try:
        reply(tiny, ASKED)
    finally:
        tiny.pair.use(PLAIN)
    assert said in checked.agreement.wrong


@pytest.mark.parametrize(("dtype", "bits"), [(mx.float16, 16), (mx.float16, 8), (mx.bfloat16, 4)])
def test_half_precision_may_differ_only_by_rounding(dtype, bits):
    mx.random.seed(2)
    x, weight = mx.random.normal((5, 256)).astype(dtype), mx.random.normal((64, 256)).astype(dtype)
    arguments = (x, weight) if bits == 16 else (x, *mx.quantize(weight, 64, bits), 64, bits)
    right, wrong = (
        CheckedKernel("verify_matmul", build=metal_kernel),
        CheckedKernel("verify_matmul", build=spoilt(0, lambda array: array * 1.06)),
    )
    for checked in (right, wrong):
        for _ in range(2):  # seen once
            checked.operations().verify_matmul(*arguments)
    assert verify_matmul.supports(*arguments)
    assert right.agreement.shapes == 1 and not right.agreement.wrong
    assert 0 < right.agreement.off <= MOST[dtype]
    assert "[5, 64]" in wrong.agreement.wrong and str(dtype).removeprefix("mlx.core.") in wrong.agreement.wrong


def in_tf32(operation, *arguments, **options):
    """Run an operation as an M5 does: float32 operands are rounded to a mantissa of 10 bits."""

    def rounded(array):
        if not isinstance(array, mx.array) or array.dtype != mx.float32:
            return array
        return ((array.view(mx.uint32) + 0x1000) & 0xFFFFE000).view(mx.float32)

    return operation(*map(rounded, arguments), **options)


@pytest.mark.parametrize("kernel", [verify_attention, verify_matmul])
def test_where_mlx_multiplies_in_tf32_a_right_kernel_passes_and_an_inexact_one_fails(kernel, monkeypatch):
    name = kernel.__name__.rpartition(".")[2]
    reference, metal = kernel.reference, kernel.metal
    mx.random.seed(1)
    case = next(self_check._CASES[name](mx.float32))

    def wrong():
        checked = CheckedKernel(name, metal_kernel)
        getattr(checked.operations(), name)(*case)
        return checked.agreement.wrong

    monkeypatch.setattr(kernel, "reference", partial(in_tf32, reference))
    assert off_by(kernel.reference(*case), reference(*case)) > 2 * MOST[mx.float32]
    assert not wrong()
    monkeypatch.setattr(kernel, "metal", partial(in_tf32, metal))
    assert "off by" in wrong()


@given(
    rows=st.integers(1, 3),
    outputs=st.integers(1, 9000),
    bits=st.sampled_from([4, 16]),
    gated=st.booleans(),
    added=st.booleans(),
)
def test_of_a_large_product_a_sample_of_columns_from_all_places_is_checked(rows, outputs, bits, gated, added):
    mx.random.seed(outputs)
    x, weight = mx.random.normal((rows, 64)), mx.random.normal((2 * outputs if gated else outputs, 64))
    packed = (weight, None, None) if bits == 16 else mx.quantize(weight, 64, bits)
    residual = mx.random.normal((rows, outputs)) if added else None
    arguments = (x, *packed, 64, 4, residual, gated)
    found, fewer = verify_matmul.sample(mx.broadcast_to(mx.arange(outputs), (rows, outputs)), *arguments)
    columns = found[0].tolist()
    assert columns[0] == outputs - 1 and len(columns) >= min(outputs, 1000) and len(columns) < 4096
    assert {column % 32 for column in columns} == set(range(min(outputs, 32)))
    wanted = verify_matmul.reference(*arguments)[:, found[0]]
    # BLAS adds 64 products in another order for another number of columns; a wrong column would be off by about 8
    np.testing.assert_allclose(np.array(verify_matmul.reference(*fewer)), np.array(wanted), rtol=0, atol=1e-4)


def test_an_ignored_window_is_detected_once_the_context_is_longer():
    """The buffer's shape never changes; a kernel may be right until the context outgrows the window."""

    def forgetful(queries, keys, values, length, scale, causal=True, window=0, sinks=None, build=None):
        return verify_attention.reference(queries, keys, values, length, scale, causal, 0, sinks)

    def seen(kernel, lengths):
        checked = CheckedKernel("verify_attention")
        checked._kernel = SimpleNamespace(metal=kernel, reference=verify_attention.reference, supports=lambda *_: True)
        mx.random.seed(3)
        queries = mx.random.normal((1, 4, 3, 64))
        keys, values = (mx.random.normal((1, 2, 256, 64)) for _ in range(2))
        for length in lengths:
            for window in (0, 128):
                checked.operations().verify_attention(queries, keys, values, mx.array([length], mx.int32), 0.125, True, window)
        return checked.agreement

    right = seen(lambda *a, build: verify_attention.reference(*a), range(60, 252, 12))
    assert right == Agreement(shapes=2, off=right.off) and right.off < 1e-5
    assert seen(forgetful, range(60, 252, 12)).wrong
    assert not seen(forgetful, range(20, 100, 12)).wrong  # nothing is out of its sight yet


def test_a_difference_is_relative_to_the_largest_value():
    of = mx.array([1.0, -4.0, 0.0])
    assert off_by(of, of) == 0.0
    assert off_by(mx.array([1.0, -4.0, 0.02]), of) == pytest.approx(0.005)
    assert off_by(of[:2], of) == float("inf") == off_by(mx.array([1.0, mx.nan, 0.0]), of)
    assert off_by(mx.zeros((2,)), mx.zeros((2,))) == 0.0
    assert off_by(mx.ones((2,)), mx.zeros((2,))) == float("inf")
    minus = mx.array([0.0, -mx.inf])
    assert off_by(minus, minus) == 0.0
