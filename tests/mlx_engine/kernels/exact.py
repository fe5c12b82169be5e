"""Arrays as float64, and the error allowed for a result."""

import mlx.core as mx
import numpy as np

# the largest relative error of one rounding
ROUNDING = {mx.float32: 2.0**-24, mx.float16: 2.0**-11, mx.bfloat16: 2.0**-8}
SMALLEST = {mx.float32: 2.0**-149, mx.float16: 2.0**-24, mx.bfloat16: 2.0**-133}


def float64(array: mx.array) -> np.ndarray:
    """An array's exact values in float64."""
    return np.array(array.astype(mx.float32)).astype(np.float64)


def assert_close(found: mx.array, want: np.ndarray, error: np.ndarray | float) -> None:
    """Check that `found` equals `want` within `error` (of float32 sums) and one rounding to its dtype."""
    allowed = error + ROUNDING[found.dtype] * (np.abs(want) + error) + SMALLEST[found.dtype]
    wrong = np.abs(float64(found) - want) / allowed
    assert found.shape == want.shape
    assert (wrong <= 1).all(), (
        f"{np.nanmax(wrong):.3g} times the error that is allowed, at {np.unravel_index(wrong.argmax(), wrong.shape)}"
    )
