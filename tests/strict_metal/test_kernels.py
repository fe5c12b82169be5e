"""Metal's compiler would accept all kernels: ours and mlx-lm's."""

import importlib

import mlx.core as mx
import pytest
from mlx_lm.models import gated_delta

from mlx_engine.kernels.operations import KERNELS
from tests.strict_metal.apple_compiler import all_texts
from tests.strict_metal.calls import calls
from tests.strict_metal.compiler import findings
from tests.strict_metal.recorder import Recorder

DTYPES = (mx.float32, mx.float16, mx.bfloat16)
EACH_DTYPE = (mx.bfloat16, *(pytest.param(dtype, marks=pytest.mark.long) for dtype in (mx.float32, mx.float16)))


def all_findings(recorder: Recorder) -> list[str]:
    return sorted({finding for metal in recorder.texts.values() for finding in findings(metal)})


@pytest.mark.parametrize("dtype", EACH_DTYPE)
@pytest.mark.parametrize("kernel", KERNELS)
def test_our_kernels_are_valid(kernel: str, dtype: mx.Dtype) -> None:
    recorder = Recorder()
    for call in calls(kernel, dtype):
        call.metal(recorder)
    assert recorder.texts
    assert all_findings(recorder) == []


def test_the_calls_cover_every_text() -> None:
    texts = all_texts()
    assert len(texts) >= 279
    functions = " ".join(metal.function for metal in texts)
    assert [name for name in KERNELS if f"custom_kernel_{name}" not in functions] == []


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Replace `mx.fast.metal_kernel` in mlx-lm, as on a machine with Metal."""
    recorder = Recorder()
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx.fast, "metal_kernel", recorder)
    return recorder


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gated_delta_kernels_of_mlx_lm_are_valid(recorder, dtype, monkeypatch) -> None:
    kernels = {
        "_gated_delta_kernel": gated_delta._make_gated_delta_kernel(has_mask=False, vectorized=False),
        "_gated_delta_kernel_masked": gated_delta._make_gated_delta_kernel(has_mask=True, vectorized=False),
        "_gated_delta_kernel_vec": gated_delta._make_gated_delta_kernel(has_mask=False, vectorized=True),
        "_gated_delta_kernel_xtree": gated_delta._make_gated_delta_kernel_xtree(),
        "_gated_delta_kernel_packed": gated_delta._make_gated_delta_packed_kernel(),
    }
    for name, kernel in kernels.items():
        monkeypatch.setattr(gated_delta, name, kernel)
    q, v = mx.zeros((1, 3, 2, 128), dtype), mx.zeros((1, 3, 4, 16), dtype)
    g, beta, state = mx.zeros((1, 3, 4)), mx.zeros((1, 3, 4), dtype), mx.zeros((1, 4, 16, 128))
    for function in (gated_delta.gated_delta_kernel, gated_delta.gated_delta_kernel_unpacked, gated_delta.gated_delta_kernel_xtree):
        function(q, q, v, g, beta, state)
    gated_delta.gated_delta_kernel(q, q, v, mx.zeros((1, 3, 4, 128)), beta, state)
    gated_delta.gated_delta_kernel(q, q, v, g, beta, state, mx.ones((1, 3), mx.bool_))
    assert len(recorder.texts) >= len(kernels)
    assert all_findings(recorder) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["qk_norm", "qk_norm_rope"])
def test_the_norm_kernels_of_mlx_lm_are_valid(recorder, name, dtype) -> None:
    rotated = name == "qk_norm_rope"
    for setting, source in vars(importlib.import_module(f"mlx_lm.kernels.{name}")).items():
        if setting.endswith("_SOURCE"):
            kernel = recorder(
                name=name,
                input_names=["qkvg", "scale", "eps", *["offset", "seq_len", "log2_base"] * rotated],
                output_names=["q", "k"],
                source=source,
            )
            kernel(
                inputs=[mx.zeros((1, 3, 768), dtype), 1.0, 1e-6, *[mx.array([1], mx.int32), mx.array(3), 13.0] * rotated],
                template=[("T", dtype), ("D", 64), ("HQ", 4), ("HK", 2), *[("OFFSET_STRIDE", 0)] * rotated],
                grid=(96, 1, 1),
                threadgroup=(32, 1, 1),
                output_shapes=[(3, 4, 64), (3, 2, 64)],
                output_dtypes=[dtype] * 2,
            )
    assert recorder.texts
    assert all_findings(recorder) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gate_kernel_of_mlx_lm_is_valid(recorder, dtype) -> None:
    kernel = recorder(
        name="gate",
        input_names=["x", "g", "eps"],
        output_names=["out"],
        source=importlib.import_module("mlx_lm.kernels.rms_norm_sigmoid_gate")._NORM_GATE_SOURCE,
        ensure_row_contiguous=False,
    )
    kernel(
        inputs=[mx.zeros((1, 2, 3, 64), dtype), mx.zeros((1, 3, 128), dtype), 1e-6],
        template=[("T", dtype), ("D", 64)],
        grid=(192, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[(1, 3, 128)],
        output_dtypes=[dtype],
    )
    assert all_findings(recorder) == []
