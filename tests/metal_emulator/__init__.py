"""Run Metal kernels on a CPU and report any fault in them.

`metal_kernel` replaces `mx.fast.metal_kernel`. docs/kernels.md explains how it works and what it can't find.
"""

from tests.metal_emulator.kernel import metal_kernel
from tests.metal_emulator.text import KernelFault

__all__ = ["KernelFault", "metal_kernel"]
