"""Limits on the time, memory, and output of chat templates.

Templates are programs from the hub. Jinja's sandbox limits none of these, and Python can't interrupt a string operation, so
templates are rendered in a child process that is killed when it exceeds a limit or when the request is canceled. The rest of
`apply_chat_template` is done here, on a thread that can be abandoned.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from mlx_lm.tokenizer_utils import TokenizerWrapper
from transformers import PreTrainedTokenizerBase

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.hardware.background import in_background
from mlx_engine.hardware.child_process import ChildFailure, ChildProcess

SECONDS = 10.0  # for one rendering; a published template takes milliseconds
MEMORY = 1 << 30  # bytes of the child
_TOKENIZER_SECONDS = 60.0  # for one prompt; a million tokens take a few seconds
_POLL_SECONDS = 0.02

T = TypeVar("T")
_turns: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()  # by tokenizer
_cancel: ContextVar[threading.Event | None] = ContextVar("cancel", default=None)


class TemplateRejection(Exception):
    """An error with a message that the template raised."""


@contextmanager
def cancelled_by(cancel: threading.Event | None) -> Iterator[None]:
    """Raise `WorkCancelled` in this block's renderings once `cancel` is set."""
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
        WorkCancelled: `cancel` was set.
        Exception: what `work` raised.
    """
    future: Future[T] | None = None
    turn = threading.Lock() if tokenizer is None else _turns.setdefault(tokenizer, threading.Lock())

    def in_turn() -> T:
        try:
            with cancelled_by(cancel):
                return work()
        except Exception:
            raise
        except BaseException as panic:  # in the tokenizers library, such as a regular expression that backtracks too long
            raise tokenizer_crash(panic) from None
        finally:
            turn.release()

    deadline = time.monotonic() + _TOKENIZER_SECONDS
    while future is None or not future.done():
        if future is not None:
            wait([future], _POLL_SECONDS)
        elif turn.acquire(timeout=_POLL_SECONDS):
            future = in_background(in_turn, "tokenizer")
        if cancel is not None and cancel.is_set():
            raise WorkCancelled
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


class TemplateProcess(ChildProcess):
    """The child process that renders chat templates."""

    def __init__(self) -> None:
        super().__init__("mlx_engine.formats.template_child", MEMORY)

    def render(self, template: str, variables: dict[str, Any]) -> str:
        """Render a template with these variables.

        Raises:
            UserError: the template exceeds a limit, or its process can't run.
            WorkCancelled: the event of `cancelled_by` was set.
            TemplateRejection: the template raised an error.
        """
        request = json.dumps([template, variables], ensure_ascii=False).encode("utf-8", "surrogatepass")
        try:
            answer = json.loads(bytes(self.ask([request], SECONDS, MEMORY, _cancel.get())).decode("utf-8", "surrogatepass"))
        except ChildFailure as failure:
            raise {"slow": _too_slow, "large": _too_large}.get(failure.reason, _ended)() from failure
        except (ValueError, RecursionError):
            raise _ended() from None
        match answer:  # which a template that has taken over its process may have written
            case {"text": str(text)}:
                return text
            case {"reason": str(reason)}:
                raise TemplateRejection(reason)
        raise _ended()


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
        UserError, WorkCancelled: as for `TemplateProcess.render`.
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
