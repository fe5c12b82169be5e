"""Which of MLX's errors are errors of the GPU, and which of them a kernel may have caused."""

import pytest

from mlx_engine.hardware import gpu_faults, memory
from tests.mlx_engine.engine.failing_kernels import BY_KERNEL, INNOCENT, INTERACTIVITY, NO_MEMORY, THREADS, VICTIM


@pytest.mark.parametrize("text", BY_KERNEL)
def test_a_kernel_may_have_caused_work_that_fails_or_a_pipeline_that_cant_be_built(text) -> None:
    fault = gpu_faults.find((ValueError if text is THREADS else RuntimeError)(text))
    assert fault is not None and fault.by_kernel and fault.message == text.splitlines()[0]


@pytest.mark.parametrize("text", [*INNOCENT, "[metal::CommandEncoder] Failed to make new command queue."])
def test_no_kernel_is_blamed_for_errors_of_other_work(text) -> None:
    fault = gpu_faults.find(RuntimeError(text))
    assert fault is not None and not fault.by_kernel


def test_codes_are_known_without_metals_words() -> None:
    """macOS may translate its words."""
    for text in (VICTIM, INTERACTIVITY):
        code = text[text.index("(0000") :] if text is INTERACTIVITY else text[text.rindex("(0000") :]
        foreign = gpu_faults.find(RuntimeError(f"[METAL] Command buffer execution failed: Irgendetwas {code}"))
        known = gpu_faults.find(RuntimeError(text))
        assert foreign is not None and known is not None
        assert (foreign.by_kernel, foreign.reason) == (known.by_kernel, known.reason)


@pytest.mark.parametrize("text", [NO_MEMORY, "[metal::malloc] Resource limit (499000) exceeded."])
def test_memory_that_runs_out_is_no_error_of_the_gpu(text) -> None:
    error = RuntimeError(text)
    assert gpu_faults.find(error) is None and memory.exhausted(error)


@pytest.mark.parametrize("error", [ValueError("Shapes (1,2) and (3) differ"), KeyError(BY_KERNEL[0]), RuntimeError("[eval] no")])
def test_other_errors_are_bugs(error) -> None:
    assert gpu_faults.find(error) is None


def test_the_explanation_says_what_happened_and_what_to_do() -> None:
    fault = gpu_faults.find(RuntimeError("[METAL] Command buffer execution failed: Internal Error (0000000e:Internal Error)."))
    assert fault is not None
    text = str(fault.error)
    assert "Internal Error" in text and "Try again" in text
