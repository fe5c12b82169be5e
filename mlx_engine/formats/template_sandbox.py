"""Limits on the time, memory, and output of chat templates.

Templates are programs from the hub. Jinja's sandbox limits none of these, and Python can't interrupt a string operation, so
templates are rendered in a child process that is killed when it exceeds a limit or when the request is canceled. The rest of
`apply_chat_template` is done here, on a thread that can be abandoned.
"""

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import ceil
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from mlx_lm.tokenizer_utils import TokenizerWrapper
from transformers import PreTrainedTokenizerBase

from mlx_engine.contract.errors import UserError
from mlx_engine.formats import template_child

SECONDS = 10.0  # for one rendering; a published template takes milliseconds
MEMORY = 1 << 30  # bytes of the child
_START_SECONDS = 60.0
_TOKENIZER_SECONDS = 60.0  # for one prompt; a million tokens take a few seconds
_POLL_SECONDS = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")

T = TypeVar("T")
_turns: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()  # by tokenizer
_cancel: ContextVar[threading.Event | None] = ContextVar("cancel", default=None)


class RenderingCancelled(Exception):
    """An error for a request that was canceled while its chat was rendered."""


class TemplateRejection(Exception):
    """An error with a message that the template raised."""


@contextmanager
def cancelled_by(cancel: threading.Event | None) -> Iterator[None]:
    """Raise `RenderingCancelled` in this block's renderings once `cancel` is set."""
    token = _cancel.set(cancel)
    try:
        yield
    finally:
        _cancel.reset(token)


def on_thread(work: Callable[[], T], cancel: threading.Event | None = None, tokenizer: object = None) -> T:
    """Run work with a tokenizer on a new thread, and return its result.

    A tokenizer's rules come from the hub too, and can't be interrupted. The thread is abandoned if it takes too long or if
    `cancel` is set. Until it ends, other work with the same `tokenizer` waits, so that no more than one keeps a core busy.

    Raises:
        UserError: the tokenizer takes too long or crashes.
        RenderingCancelled: `cancel` was set.
        Exception: what `work` raised.
    """
    future: Future[T] = Future()
    turn = threading.Lock() if tokenizer is None else _turns.setdefault(tokenizer, threading.Lock())

    def target(future: Future[T]) -> None:
        try:
            with cancelled_by(cancel):
                future.set_result(work())
        except Exception as error:
            future.set_exception(error)
        except BaseException as panic:  # in the tokenizers library, such as a regular expression that backtracks too long
            future.set_exception(tokenizer_crash(panic))
        finally:
            turn.release()
            del future  # the traceback of its exception holds this frame

    thread = threading.Thread(target=target, args=(future,), name="tokenizer", daemon=True)
    deadline = time.monotonic() + _TOKENIZER_SECONDS
    while not future.done():
        if thread.ident is None and turn.acquire(timeout=_POLL_SECONDS):
            thread.start()
        wait([future], _POLL_SECONDS if thread.ident else 0)
        if cancel is not None and cancel.is_set():
            raise RenderingCancelled
        if time.monotonic() > deadline:
            raise UserError(
                "tokenizer_slow",
                "The model's tokenizer takes longer than {seconds:g} seconds. Shorten the chat, or choose another model.",
                seconds=_TOKENIZER_SECONDS,
            )
    try:
        return future.result()
    finally:
        del future  # the traceback of its exception holds this frame, and so those of all callers


def tokenizer_crash(error: BaseException) -> UserError:
    template = "The model's tokenizer crashed ({reason}). Choose another model."
    return UserError("tokenizer_crashes", template, reason=str(error))


class TemplateProcess:
    """The child process that renders chat templates.

    It starts when it is first needed, and again after it was killed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False

    def start(self) -> None:
        """Start the process before it is needed, without waiting for it."""
        with self._lock, suppress(UserError):  # the rendering reports it
            self._start()

    def stop(self) -> None:
        """End the process."""
        with self._lock:
            self._kill()

    def render(self, template: str, variables: dict[str, Any]) -> str:
        """Render a template with these variables.

        Raises:
            UserError: the template exceeds a limit, or its process can't run.
            RenderingCancelled: the event of `cancelled_by` was set.
            TemplateRejection: the template raised an error.
        """
        request = json.dumps([template, variables], ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            try:
                process = self._start()
                if not self._ready:
                    self._exchange(process, b"", _START_SECONDS)
                    self._ready = True
                answer = json.loads(self._exchange(process, request, SECONDS).decode("utf-8", "surrogatepass"))
            except BaseException:
                self._kill()
                raise
        if "reason" in answer:
            raise TemplateRejection(answer["reason"])
        return answer["text"]

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._kill()
        # A bundle contains no Python program; the app runs the module
        in_python = "python" in Path(sys.executable).name.lower()
        program = (
            [sys.executable, "-P", template_child.__file__] if in_python else [sys.executable, "--child", template_child.__name__]
        )
        try:
            self._process = subprocess.Popen(
                [*program, str(ceil(SECONDS) + 1), str(MEMORY)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that Ctrl-C in a terminal doesn't reach it
            )
        except OSError as error:
            raise _ended() from error
        assert self._process.stdin
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _kill(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is not None:
            process.kill()
            with process:  # waits, and closes the pipes
                pass

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes:
        """Write a request and return the line that answers it."""
        assert process.stdin and process.stdout
        cancel, deadline = _cancel.get(), time.monotonic() + seconds
        unsent, answer = memoryview(request), bytearray()
        with selectors.PollSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if request:
                selector.register(process.stdin, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                if cancel is not None and cancel.is_set():
                    raise RenderingCancelled
                if time.monotonic() > deadline:
                    raise _too_slow()
                if max(_footprint(process.pid), len(answer)) > MEMORY:
                    raise _too_large()
                for key, _ in selector.select(_POLL_SECONDS):
                    if key.fileobj is process.stdin:
                        try:
                            unsent = unsent[os.write(key.fd, unsent) :]
                        except BrokenPipeError:  # the end of its output follows
                            unsent = memoryview(b"")
                        if not unsent:
                            selector.unregister(process.stdin)
                    elif chunk := os.read(key.fd, 1 << 16):
                        answer += chunk
                    else:
                        status = process.wait()
                        raise (
                            _too_large()
                            if status == template_child.TOO_LARGE
                            else _too_slow()
                            if status == -signal.SIGALRM
                            else _ended()
                        )
        return bytes(answer)


def _footprint(pid: int) -> int:
    """Return the bytes of memory that a process holds; 0 if it has ended."""
    if sys.platform == "darwin":
        usage = (ctypes.c_uint64 * 16)()  # struct rusage_info_v0, whose last fields are resident size, footprint, start, and exit
        ctypes.CDLL(None).proc_pid_rusage(pid, 0, usage)
        return usage[9]
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def _too_slow() -> UserError:
    return UserError(
        "chat_template_slow",
        "The model's chat template takes longer than {seconds:g} seconds. Choose another model.",
        seconds=SECONDS,
    )


def _too_large() -> UserError:
    return UserError(
        "chat_template_large",
        "The model's chat template produces more text than a context can hold. Choose another model.",
    )


def _ended() -> UserError:
    return UserError(
        "chat_template_process",
        "The process that renders the model's chat template ended unexpectedly. Try again, or choose another model.",
    )


renderer = TemplateProcess()


def render_chat(tokenizer: TokenizerWrapper, chat: Sequence[dict[str, Any]], **options: Any) -> str:
    """Return a chat's text, as mlx-lm's `apply_chat_template` does without tokenizing.

    The template is rendered by the child process. Renderers that are Python code of mlx-lm or transformers run here.

    Raises:
        TemplateRejection: the template raised an error.
        Exception: a renderer in Python raised it.
        UserError, RenderingCancelled: as for `TemplateProcess.render`.
    """
    in_python = type(tokenizer._tokenizer).apply_chat_template is not PreTrainedTokenizerBase.apply_chat_template
    if in_python or tokenizer._chat_template is not None:
        return tokenizer.apply_chat_template(chat, tokenize=False, **options)
    defaults = {"tools": None, "documents": None, "add_generation_prompt": False, "enable_thinking": tokenizer.has_thinking}
    variables = {**defaults, **tokenizer.special_tokens_map, **options, "messages": [_with_reasoning(turn) for turn in chat]}
    return renderer.render(tokenizer.get_chat_template(tools=variables["tools"]), variables)


def _with_reasoning(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a message without empty fields, and with thinking by all names."""
    turn = {name: value for name, value in turn.items() if value is not None}
    thinking = next((turn[name] for name in ("reasoning_content", "thinking", "reasoning") if name in turn), None)
    return turn if thinking is None else {"thinking": thinking, **turn, "reasoning_content": thinking}
