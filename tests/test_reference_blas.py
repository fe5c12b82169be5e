"""The tests' BLAS has the results of the wheel's, bit for bit."""

import ctypes
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import reference_blas

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="on a Mac, MLX uses Accelerate")
TRANSPOSED, AS_STORED = 112, 111


def product(library, a, b, c, alpha, beta):
    """Return alpha op(A) op(B) + beta C. `a` and `b` are pairs: a matrix and whether it is transposed."""
    (a, a_turned), (b, b_turned), out = a, b, c.copy()
    rows, columns, depth = *c.shape, a.shape[0 if a_turned else 1]
    found = [TRANSPOSED if turned else AS_STORED for turned in (a_turned, b_turned)]
    at = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, out)]
    scales = ctypes.c_float(alpha), ctypes.c_float(beta)
    library.cblas_sgemm(
        101, *found, rows, columns, depth, scales[0], at[0], a.shape[1], at[1], b.shape[1], scales[1], at[2], columns
    )
    return out


SIZES = st.integers(1, 40)
DEPTHS = SIZES | st.integers(250, 520)  # the library packs parts of 256
SCALES = st.sampled_from([1.0, 1.0, 0.5, -2.0])


@given(
    rows=SIZES, columns=SIZES, depth=DEPTHS, turned=st.tuples(st.booleans(), st.booleans()), alpha=SCALES, seed=st.integers(0, 99)
)
@pytest.mark.parametrize("beta", [0.0, 1.0, 0.3])
def test_every_product_equals_the_wheels(rows, columns, depth, turned, alpha, beta, seed):
    if not (library := reference_blas.build()):
        pytest.skip("no compiler here can compile it, so the tests use the wheel's")
    (place,) = find_spec("mlx").submodule_search_locations
    (wheels,) = Path(place).parent.glob("mlx_cpu.libs/libblas*")
    draw = np.random.default_rng(seed).standard_normal
    a = draw((depth, rows) if turned[0] else (rows, depth)).astype(np.float32)
    b = draw((columns, depth) if turned[1] else (depth, columns)).astype(np.float32)
    c = draw((rows, columns)).astype(np.float32)
    ours, theirs = (product(ctypes.CDLL(str(each)), (a, turned[0]), (b, turned[1]), c, alpha, beta) for each in (library, wheels))
    assert ours.tobytes() == theirs.tobytes()
