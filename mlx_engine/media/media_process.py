"""The child processes that read images and documents, and requests to them."""

import json
import threading
from collections.abc import Sequence

from mlx_engine.contract.errors import UserError
from mlx_engine.hardware.child_process import ChildFailure, ChildProcess
from mlx_engine.media.unreadable import error_of

MEMORY = 2 << 30  # bytes of each process
_MODULE = "mlx_engine.media.media_child"
_LONGEST_ANSWER = 64 << 20  # bytes, without pixels
_REASONS = {  # texts for failures of a process
    "image": {"slow": "image_slow", "large": "image_memory", "ended": "image_damaged", "stopped": "media_stopped"},
    "pdf": {"slow": "pdf_too_slow", "large": "pdf_memory", "ended": "pdf_damaged", "stopped": "media_stopped"},
    "document": {"slow": "document_slow", "large": "document_memory", "ended": "document_damaged", "stopped": "media_stopped"},
}

# Several processes, so that a long PDF doesn't hold up the images of other replies, nor a folder of documents a PDF
images = ChildProcess(_MODULE, MEMORY)
pdfs = ChildProcess(_MODULE, MEMORY)
documents = ChildProcess(_MODULE, MEMORY)
_PROCESSES = {"image": images, "pdf": pdfs, "document": documents}


def start() -> None:
    """Start the process for images before it is needed, without waiting for it."""
    images.start()


def end_idle() -> None:
    """End the processes that do nothing."""
    for process in _PROCESSES.values():
        process.end_idle()


def stop() -> None:
    """End the processes. What they are reading fails."""
    for process in _PROCESSES.values():
        process.stop()


def ask(
    kind: str,
    work: str,
    arguments: Sequence[int],
    data: bytes,
    name: str,
    *,
    seconds: float,
    limit: int,
    content: int = 0,
    cancel: threading.Event | None = None,
) -> tuple[dict, memoryview]:
    """Return the result and the content of a child's answer.

    Args:
        kind: "image", "pdf", or "document".
        data: the file.
        name: the file's name for messages.
        seconds: time limit, without the time until the process is free.
        limit: bytes that the file may have.
        content: bytes that the content may have.

    Raises:
        UserError: the file can't be read.
        WorkCancelled: `cancel` was set.
    """
    if len(data) > limit:
        raise error_of(f"{kind}_bytes", name, {"limit": limit // 1_000_000})
    process = _PROCESSES[kind]
    head = json.dumps([work, list(arguments)]).encode()
    try:
        answer = process.ask([len(head).to_bytes(4, "little"), head, data], seconds, _LONGEST_ANSWER + content, cancel)
        line = bytes(answer[:_LONGEST_ANSWER]).partition(b"\n")[0]
        result = json.loads(line)
        if "problem" in result:
            raise error_of(str(result["problem"]), name, result["values"])
        return result, answer[len(line) + 1 :]
    except ChildFailure as failure:
        raise _failed(kind, failure.reason, name) from failure
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _failed(kind, "ended", name) from error  # the file has taken over its process


def _failed(kind: str, reason: str, name: str) -> UserError:
    if reason == "start":
        template = "The process that reads images and PDFs can't start. Install Slipstream again."
        return UserError("media_process", template)
    return error_of(_REASONS[kind][reason], name, {})
