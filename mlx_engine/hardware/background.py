"""Work on a thread of its own, whose result is waited for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_background(work: Callable[[], T], name: str) -> "Future[T]":
    """Run work on a new thread, which ends with it, and return its future.

    An exception's traceback holds the frames that it passed. A caller of `result` must therefore delete its own reference to the
    future, or a cycle keeps all callers' objects.

    Args:
        work: what to run.
        name: the thread's name.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # so that nobody who waits can cancel it for the others

    def run(future: "Future[T]") -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        finally:
            del future

    threading.Thread(target=run, args=(future,), name=name, daemon=True).start()
    return future
