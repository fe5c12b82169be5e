"""The tests' own BLAS function gives the same bits as the one in MLX's wheel."""

import ctypes

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests import fast_blas

SIZE = st.integers(1, 40)


def product(
    library: ctypes.CDLL, transposed: bool, a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha: float, beta: float
) -> bytes:
    c = c.copy()
    (rows, inner), columns = a.shape, c.shape[1]
    arguments = [ctypes.c_int(n) for n in (101, 111, 112 if transposed else 111, rows, columns, inner)]
    matrices = [(matrix.ctypes.data_as(ctypes.c_void_p), ctypes.c_int(matrix.shape[1])) for matrix in (a, b, c)]
    library.cblas_sgemm(*arguments, ctypes.c_float(alpha), *matrices[0], *matrices[1], ctypes.c_float(beta), *matrices[2])
    return c.tobytes()


@given(
    rows=SIZE,
    columns=SIZE,
    inner=st.integers(1, 300),
    seed=st.integers(0, 99),
    factors=st.sampled_from([(1, 0), (1, 1), (0.3, -2)]),
)
def test_products_have_the_bits_of_the_wheels(rows: int, columns: int, inner: int, seed: int, factors: tuple[float, float]) -> None:
    ours, wheel = fast_blas.load(), fast_blas.wheel()
    random = np.random.default_rng(seed)
    a, b, c = (random.normal(size=shape).astype(np.float32) for shape in ((rows, inner), (columns, inner), (rows, columns)))
    for transposed in (True, False):
        b = b if transposed else np.ascontiguousarray(b.T)
        if ours and wheel:
            assert product(ours, transposed, a, b, c, *factors) == product(wheel, transposed, a, b, c, *factors)
