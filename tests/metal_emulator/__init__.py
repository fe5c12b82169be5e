"""Metal kernels on a CPU: `metal_kernel` stands in for `mx.fast.metal_kernel`, and every fault of a kernel fails the test.

metal/README.md tells how it works and what it cannot tell.
"""

from tests.metal_emulator.kernel import metal_kernel
from tests.metal_emulator.text import KernelFault

__all__ = ["KernelFault", "metal_kernel"]
