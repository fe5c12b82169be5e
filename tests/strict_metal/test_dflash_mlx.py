"""The kernels of dflash-mlx, which run on Macs, have no findings.

Its kernels for tensor operations (M5) are left out.
"""

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import mlx.core as mx
import pytest

from tests.strict_metal.compiler import findings
from tests.strict_metal.recorder import Recorder

pytestmark = pytest.mark.long
RELEASE = "dflash-mlx==0.1.8"  # as in tests/peers/run.sh
PLACE = Path(__file__).parents[2] / "build" / "strict_metal" / RELEASE
Import = Callable[[str], ModuleType]


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Import:
    """Import a module of dflash-mlx again, to create its kernels with the recorder."""
    if not PLACE.is_dir():  # without its requirements, which would bring another MLX
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(PLACE), RELEASE]
        subprocess.run(pip, check=True, timeout=300)
    monkeypatch.syspath_prepend(str(PLACE))

    def load(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx.fast, "metal_kernel", recorder)
    return recorder


def check(recorder: Recorder, fewest: int) -> None:
    assert len(recorder.texts) >= fewest
    assert sorted({finding for metal in recorder.texts.values() for finding in findings(metal)}) == []


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_the_matrix_kernels_are_valid(peer: Import, recorder: Recorder, dtype: mx.Dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    module = peer("dflash_mlx.verify_qmm")
    monkeypatch.setattr(module, "is_enabled", lambda: True)
    for variant in ("auto", "combo_ktmpl", "super_tree_fp16_ktmpl", "mma2big", "mma2big_pipe"):
        monkeypatch.setattr(module, "_variant", lambda variant=variant: variant)
        for rows in (4, 16):
            for group in (32, 64, 128):
                for bits in (4, 8):
                    packed = mx.quantize(mx.zeros((64, 512), dtype), group, bits)
                    module.verify_matmul(mx.zeros((rows, 512), dtype), *packed, group_size=group, bits=bits)
    check(recorder, 21)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_the_gated_delta_kernels_are_valid(peer: Import, recorder: Recorder, dtype: mx.Dtype) -> None:
    module = peer("dflash_mlx.kernels")
    keys, values, state = mx.zeros((1, 3, 2, 128), dtype), mx.zeros((1, 3, 4, 16), dtype), mx.zeros((1, 4, 16, 128))
    beta, parents, mask = mx.zeros((1, 3, 4), dtype), mx.zeros((1, 3), mx.int32), mx.ones((1, 3), mx.bool_)
    for decay in (mx.zeros((1, 3, 4)), mx.zeros((1, 3, 4, 128))):
        for rows in (None, mask):
            module.gated_delta_kernel_with_tape(keys, keys, values, decay, beta, state, rows)
            module.tape_replay_kernel(values.astype(mx.float32), keys, decay, state, rows)
        for run in (module.gated_delta_tree_kernel, module.gated_delta_tree_tape_kernel):
            run(keys, keys, values, decay, beta, state, parents)
    for bias in (None, mx.zeros((8,), dtype)):
        shape = (mx.zeros((1, 3, 8), dtype), mx.zeros((1, 3, 8), dtype), mx.zeros((8, 4, 1), dtype))
        module.tree_depthwise_conv1d(*shape, bias, mx.zeros((1, 3, 4), mx.int32))
    check(recorder, 14)
