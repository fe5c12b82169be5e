"""The local server and its thread."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance, Slot

from app.session.activity import SessionActivity
from app.session.notice import Notice
from app.session.pair_session import PairLoader
from app.session.preferences import Preferences
from app.text.language import number, tr, translated
from mlx_engine.api_server import HOST
from mlx_engine.cli.agents import AgentServer
from mlx_engine.contract.client import Deliver, EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Failed
from mlx_engine.contract.requests import LoadPair
from mlx_engine.models.library.pair import demo_pair

if TYPE_CHECKING:
    from mlx_engine.api_server.app import Api
    from mlx_engine.api_server.metrics import LiveRequest

POLL_MS = 1000
LOG_LINES = 200

_CLOSE_S = 0.05
_log = logging.getLogger("mlx_engine.api_server")


class LocalServer(QObject):
    """The HTTP API of the window's engine, on a thread with an event loop.

    Attributes:
        on: whether the server is running or starting.
        url: address while requests are served, else empty.
        key: API key once the server has started, else empty.
        key_kept: whether the key is stored in the keychain.
        error: why the server could not start, else empty.
        activity: replies that are waiting or being generated.
        lines: the latest lines of the server's log, which never contains the content of requests.
    """

    changed = Signal()
    activity_changed = Signal()
    logged = Signal(str)
    failed = Signal(object)  # Notice

    _load_wanted = Signal(object, object)  # LoadPair, Deliver
    _ready = Signal(object, str)  # Api, address
    _key_found = Signal(str, bool)
    _ended = Signal(object)  # UserError or None

    def __init__(
        self,
        client: EngineClient,
        loader: PairLoader,
        activity: SessionActivity,
        preferences: Preferences,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._client, self._loader, self._activity, self._preferences = client, loader, activity, preferences
        self._api: Api | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._port = preferences.server_port
        self.on = False
        self.url = self.key = self.error = ""
        self.key_kept = True
        self.activity: tuple[LiveRequest, ...] = ()
        self.lines: deque[str] = deque(maxlen=LOG_LINES)
        self._log_handler = _LogHandler(partial(self._report, self.logged))
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self.refresh)
        self._load_wanted.connect(self._load)
        self._ready.connect(self._show_ready)
        self._key_found.connect(self._use_key)
        self._ended.connect(self._follow_end)
        self.logged.connect(self._keep_line)
        loader.changed.connect(self._follow_pair)
        preferences.changed.connect(self._follow_preferences)

    @property
    def for_agents(self) -> AgentServer | None:
        """What coding agents need to know, or None while they can't connect."""
        pair = self._loader.info
        if not self.url or pair is None or self._loader.running:
            return None
        from mlx_engine.api_server.served_models import model_id

        return AgentServer(self.url, self.key, model_id(pair), pair.context_limit, pair.can_see)

    @property
    def tok_s(self) -> float | None:
        """Tokens per second of all replies in `activity` together, or None if unknown."""
        rates = [live.tok_s for live in self.activity if live.tok_s is not None]
        return sum(rates) if rates else None

    @property
    def programs(self) -> int:
        """Number of programs that are waiting for replies.

        Programs without a name count once per reply.
        """
        self.refresh()
        return len({live.client or live.number for live in self.activity})

    @Slot(bool)
    def set_on(self, on: bool) -> None:
        """Start or stop the server. Stopping cancels its replies."""
        self.on, self.error = on, ""
        if not on:
            self._end()
        elif self._thread is None:
            self._begin()
        self.changed.emit()

    @Slot()
    def replace_key(self) -> None:
        """Replace the API key with a new one."""
        from mlx_engine.api_server.api_key import new_key

        threading.Thread(target=lambda: self._report(self._key_found, *new_key()), name="keychain", daemon=True).start()

    @Slot()
    def refresh(self) -> None:
        """Update `activity`."""
        now = self._api.metrics.activity() if self._api is not None else ()
        if now != self.activity:
            self.activity = now
            self.activity_changed.emit()

    def close(self, seconds: float = 0.0) -> None:
        """Stop the server, and wait up to `seconds` for its thread."""
        self.on = False
        self._end()
        if self._thread is not None:
            self._thread.join(seconds)

    def _begin(self) -> None:
        self._loop, self._stop = asyncio.new_event_loop(), asyncio.Event()
        self._port = self._preferences.server_port
        options = (self._loop, self._stop, self._port, self.key)
        self._thread = threading.Thread(target=self._serve, args=options, name="server", daemon=True)
        self._thread.start()

    def _end(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._stop.set)

    def _serve(self, loop: asyncio.AbstractEventLoop, stop: asyncio.Event, port: int, key: str) -> None:
        """Serve until `stop` is set. Runs on the server's thread."""
        from mlx_engine.api_server.api_key import stored_key  # slow to import, like the others
        from mlx_engine.api_server.app import Api
        from mlx_engine.api_server.guard import Guard
        from mlx_engine.api_server.listener import Listener
        from mlx_engine.api_server.running import announced
        from mlx_engine.api_server.served_models import ServedModels

        error: UserError | None = None
        _log.addHandler(self._log_handler)
        try:
            listener = Listener(HOST, port)
            if not key:
                key, kept = stored_key()
                self._report(self._key_found, key, kept)
            models = ServedModels(self._client, None, load=partial(self._report, self._load_wanted))
            api = Api(models, Guard(HOST, key))
            with announced(listener.url) if port else nullcontext():
                loop.run_until_complete(listener.serve(api, stop, lambda: self._report(self._ready, api, listener.url)))
        except UserError as found:
            error = found
        except Exception:
            _log.exception("The server failed")
            error = UserError(
                "internal", "Something went wrong in Slipstream. Details are in {log_file}.", log_file="slipstream.log"
            )
        finally:
            _log.removeHandler(self._log_handler)
            loop.run_until_complete(_end_requests())
            loop.close()
            self._report(self._ended, error)

    def _report(self, signal: SignalInstance, *values: object) -> None:
        """Emit a signal from another thread, unless the window has been deleted."""
        with suppress(RuntimeError):
            signal.emit(*values)

    @Slot(object, str)
    def _show_ready(self, api: "Api", url: str) -> None:
        self._api, self.url = api, url
        self._follow_pair()
        self._follow_preferences()
        self._timer.start()
        self.changed.emit()

    @Slot(str, bool)
    def _use_key(self, key: str, kept: bool) -> None:
        self.key, self.key_kept = key, kept
        if self._api is not None:
            self._api.guard = replace(self._api.guard, key=key)
        self.changed.emit()

    @Slot(object)
    def _follow_end(self, error: UserError | None) -> None:
        self._timer.stop()
        self._thread = self._api = None
        self.url = ""
        self.refresh()
        if self.on and error is None and self._stop.is_set():
            self._begin()  # with another port, or because it was turned off and on again
        else:
            self.on, self.error = False, translated(error.text) if error else ""
        self.changed.emit()
        if error is not None:
            self.failed.emit(Notice(tr("The local server is off. {reason}", reason=self.error), until="server", help="server"))

    @Slot(str)
    def _keep_line(self, line: str) -> None:
        self.lines.append(line)

    @Slot()
    def _follow_preferences(self) -> None:
        if self._api is not None:
            self._api.models.may_load = self._preferences.load_on_request
        if self._preferences.server_port != self._port:
            self._port, self.error = self._preferences.server_port, ""
            self._end()  # `_follow_end` starts it again
            self.changed.emit()

    @Slot(object, object)
    def _load(self, wanted: LoadPair, deliver: Deliver) -> None:
        """Load a pair for a program as the user would."""
        pair = LoadPair() if (wanted.target, wanted.drafter) == demo_pair() else wanted
        if self._activity.alone_refusal() is not None:
            problem = UserError("pair_in_use", "The Slipstream window is using the loaded pair. Try again when it has finished.")
        elif not self._loader.load(pair, deliver):
            problem = UserError("pair_loading", "Another pair is loading. Try again in a moment.")
        else:
            return
        deliver(Failed.because(problem))
        deliver(None)

    @Slot()
    def _follow_pair(self) -> None:
        """Serve the loaded pair, or none while a pair loads.

        Replies in progress are canceled, because loading would wait for them.
        """
        if self._api is not None:
            self._api.models.pair = None if self._loader.running else self._loader.info


class _LogHandler(logging.Handler):
    """A handler that passes log lines, with the time of day, to `keep`."""

    def __init__(self, keep: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._keep = keep
        self.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        if not record.exc_info:
            self._keep(self.format(record).splitlines()[0])


def active_requests(count: int) -> str:
    return tr("1 active request") if count == 1 else tr("{count} active requests", count=number(count))


async def _end_requests() -> None:
    """Cancel the requests in progress, and close their connections."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(_CLOSE_S)  # connections close in later turns of the loop
