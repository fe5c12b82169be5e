"""Errors of the GPU, recognized by MLX's messages.

Metal's errors arrive late. MLX keeps the error of failed work and raises it once, at a later call that may belong to another reply.
Arrays of that work, and of work queued after it, then count as evaluated but contain anything. Only what was read before is right.
"""

from dataclasses import dataclass

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.hardware import memory

# How MLX's messages begin: device.cpp runs command buffers and builds pipelines. custom_kernel.cpp counts threads
_SOURCES = ("[metal]", "[metal::", "thread group size")
_TOO_SLOW = EngineText.of("gpu_too_slow", "macOS stopped the GPU's work because it took too long")
_RESET = EngineText.of("gpu_reset", "macOS reset the GPU because of other work")
_REFUSED = EngineText.of("gpu_refused", "macOS accepts no GPU work from Slipstream after earlier errors")
_TOO_MANY_THREADS = EngineText.of("gpu_threads", "a kernel needs more threads than this GPU allows")
_NOT_COMPILED = EngineText.of("gpu_compiler", "macOS couldn't compile a kernel")
# Words in the message, the reason, and whether a kernel may be the cause. Metal's words may be translated; the codes are not
_KINDS = (
    # The work of other apps, or of ours, made the GPU fail: this work was only in the way
    (("innocentvictim", "victim of"), _RESET, False),
    # An earlier error, which had its own message, made macOS refuse the queue
    (("submissionsignored", "excessive gpu errors"), _REFUSED, False),
    (("errortimeout", "errorhang", "errorimpacting", "gpu timeout", "gpu hang", "impacting interactivity"), _TOO_SLOW, True),
    (("thread group size",), _TOO_MANY_THREADS, True),
    # Also if Metal's compiler service is gone: a kernel's text may have crashed it
    (("unable to build", "unable to load", "xpc_error"), _NOT_COMPILED, True),
)
# Sources of errors that no kernel causes: no device, no queue
_NO_KERNEL = ("[metal::load_device]", "[metal::commandencoder]")


@dataclass(frozen=True)
class GpuFault:
    """An error of the GPU.

    Attributes:
        reason: what happened.
        by_kernel: whether a kernel may be the cause.
        message: the first line of MLX's message.
    """

    reason: EngineText
    by_kernel: bool
    message: str

    @property
    def too_slow(self) -> bool:
        """Whether less work at a time may pass."""
        return self.reason is _TOO_SLOW

    @property
    def error(self) -> UserError:
        """The error of a request that the GPU can't run."""
        template = "The GPU failed: {reason}. Try again. If it fails again, quit and reopen Slipstream, or restart the Mac."
        return UserError("gpu_failed", template, reason=self.reason)


def find(error: BaseException) -> GpuFault | None:
    """Return the GPU's error that MLX raised, or None if it is something else.

    Running out of memory is something else.
    """
    text = str(error).strip().lower()
    if not isinstance(error, RuntimeError | ValueError) or not text.startswith(_SOURCES) or memory.exhausted(error):
        return None
    message = str(error).strip().splitlines()[0]
    for words, reason, by_kernel in _KINDS:
        if any(word in text for word in words):
            return GpuFault(reason, by_kernel, message)
    return GpuFault(EngineText.of("gpu_error", "“{message}”", message=message), not text.startswith(_NO_KERNEL), message)
