"""The models that requests can name, and how they are loaded."""

import asyncio
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from weakref import WeakSet

from mlx_engine.api_server.body import Chunk
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.client import Deliver, EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Failed, LoadProgress, PairInfo
from mlx_engine.contract.requests import LoadPair, Request
from mlx_engine.models.library.installed import InstalledPair, installed_pairs

log = logging.getLogger(__name__)

ALIAS = "default"
_STARTED = int(time.time())
_RETRY_S = 5  # seconds after which a client may try again, if no pair is loaded


class ServedModels:
    """The loaded pair, and the installed pairs that can be loaded by name.

    Pairs are loaded one at a time, while no reply is generated. Requests are served in order of arrival, so that requests
    for one pair can't block those for another one forever.

    Attributes:
        may_load: whether a request that names another installed pair loads it.
        progress: what a request that waits for its pair waits for.

    Args:
        own: the pair loaded at the start, which `installed_pairs` may not find.
        drafter_bits: bits of drafters that are loaded, as in `LoadPair`.
        load: loads a pair in place of the client. A request that ends doesn't cancel it.
    """

    def __init__(
        self,
        client: EngineClient,
        pair: PairInfo | None,
        may_load: bool = False,
        own: InstalledPair | None = None,
        drafter_bits: int | None = None,
        load: Callable[[LoadPair, Deliver], object] | None = None,
    ) -> None:
        self.may_load = may_load
        self._client, self._load_pair, self._own, self._drafter_bits = client, load or client.submit, own, drafter_bits
        self._pair = pair
        self._runs = WeakSet[Run]()
        self._lock = threading.Lock()  # of the pair and the runs
        self._entry = asyncio.Lock()
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self.progress = "waiting"

    @property
    def pair(self) -> PairInfo | None:
        """The loaded pair, or None. Can be set from any thread.

        Without a pair, all runs are canceled, and those still to come: they were checked for the previous pair, and loading
        would wait for them.
        """
        return self._pair

    @pair.setter
    def pair(self, pair: PairInfo | None) -> None:
        with self._lock:
            self._pair = pair
            runs = list(self._runs) if pair is None else []
        for run in runs:
            run.cancel()

    def submit(self, request: Request, deliver: Deliver) -> Run:
        """Submit a request that was checked for the loaded pair."""
        run = self._client.submit(request, deliver)
        with self._lock:
            self._runs.add(run)
            is_late = self._pair is None
        if is_late:
            run.cancel()
        return run

    async def listed(self) -> list[InstalledPair]:
        """Return the pairs that requests can load."""
        return await asyncio.to_thread(self._installed) if self.may_load else []

    @asynccontextmanager
    async def using(self, name: str | None) -> AsyncIterator[PairInfo]:
        """Load the named pair if needed, and keep it loaded.

        Args:
            name: name in the request; None stands for the loaded pair, like “default”.

        Raises:
            ApiError: the pair is unknown or can't be loaded.
        """
        async with self.entering(name) as entry:
            await asyncio.wait({entry})
            yield entry.result()

    @asynccontextmanager
    async def entering(self, name: str | None) -> AsyncIterator[asyncio.Task[PairInfo]]:
        """Do the same as `using`, with a task whose result is the pair."""
        found = asyncio.create_task(self._enter(name))
        try:
            yield found
        finally:
            if not found.cancel() and not found.cancelled() and found.exception() is None:
                self._users -= 1
                if not self._users:
                    self._unused.set()

    async def _enter(self, name: str | None) -> PairInfo:
        async with self._entry:
            other = await self._other(name)
            if other is not None:
                await self._unused.wait()
                loading = asyncio.ensure_future(self._load(other))
                try:
                    await asyncio.shield(loading)
                except asyncio.CancelledError:
                    await asyncio.wait({loading})  # no request can use a half-loaded pair
                    raise
            if (pair := self.pair) is None:
                raise none_loaded()
            self._users += 1
            self._unused.clear()
            return pair

    async def _other(self, name: str | None) -> InstalledPair | None:
        """Return the named pair, or None if it is the loaded one."""
        pair = self.pair
        if name in (None, ALIAS) or (pair is not None and name in (pair.name, model_id(pair))):
            return None
        installed = await asyncio.to_thread(self._installed)
        named = [one for one in installed if name in (one.name, model_id(one), *one.aliases)]
        if named and pair is not None and model_id(named[0]) == model_id(pair):
            return None
        if named and self.may_load:
            return named[0]
        available = ", ".join(f"“{model_id(one)}”" for one in installed[:20])
        if named or not self.may_load:
            names = f"“{model_id(pair)}” or “{ALIAS}”" if pair else f"“{ALIAS}”"
            message = f"The model “{name[:100]}” isn't loaded. Use {names}. "
            how = "start “slipstream serve” with --load-by-name, or turn on “Load models on request” in the app"
            message += f"To load models by name, {how}. Installed: {available}."
        else:
            message = f"The model “{name[:100]}” isn't installed. Use one of {available}."
        raise ApiError(404, message, "model", "model_not_found")

    def _installed(self) -> list[InstalledPair]:
        try:
            found = [*([self._own] if self._own else []), *installed_pairs()]
        except UserError as error:
            raise ApiError.because(error) from None
        return list({model_id(one): one for one in reversed(found)}.values())[::-1]

    async def _load(self, wanted: InstalledPair) -> None:
        """Load a pair. If that fails, load the previous one again if it was freed.

        Raises:
            ApiError: the pair can't be loaded.
        """
        before, began = self.pair, time.monotonic()
        try:
            await self._request(wanted)
        except ApiError as error:
            log.warning("Can't load %s (%s)", model_id(wanted), error.code)
            if self.pair is None and before is not None:
                for previous in await asyncio.to_thread(self._installed):
                    if model_id(previous) == model_id(before):
                        await self._request(previous)
            message = f"“{model_id(wanted)}” can't be loaded. {error.message}"
            raise ApiError(503, message, "model", "model_not_loaded") from None
        else:
            old = f" in place of {model_id(before)}" if before else ""
            log.warning("Loaded %s%s for a request, in %.1f s", model_id(wanted), old, time.monotonic() - began)

    async def _request(self, wanted: InstalledPair) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        failed: Failed | None = None

        def deliver(event: Event | None) -> None:
            nonlocal failed
            match event:
                case LoadProgress(fraction):
                    self.progress = f"loading {model_id(wanted)}, {fraction:.0%}"
                    if fraction:  # at 0, files are checked and the old pair is still loaded
                        self.pair = None
                case PairInfo(why_not_fastest=why):
                    self.pair = event
                    if why is not None:
                        log.warning("%s", why)
                case Failed():
                    failed = event
                case None:
                    with suppress(RuntimeError):  # the loop has ended
                        loop.call_soon_threadsafe(ended.set)

        self._load_pair(LoadPair(wanted.target, wanted.drafter, self._drafter_bits, wanted.auto), deliver)
        try:
            await ended.wait()
        finally:
            self.progress = "waiting"
        if failed is not None:
            raise ApiError.because(UserError.of(failed))


def none_loaded() -> ApiError:
    message = "No models are loaded. Load a pair in Slipstream, or wait until the models have loaded."
    return ApiError(503, message, code="model_not_loaded", retry_after=_RETRY_S)


def model_id(pair: PairInfo | InstalledPair) -> str:
    """Return a pair's model ID, such as “demo-pair”."""
    return re.sub(r"[^\w.]+", "-", pair.name.lower()).strip("-") or ALIAS


def model_list(pair: PairInfo | None, others: Iterable[InstalledPair]) -> Chunk:
    """Return the list of models, with the loaded pair first.

    The loaded pair is listed under its ID and its alias. The list has the fields of OpenAI's and Anthropic's dialects.
    """
    loaded = (model_id(pair), ALIAS) if pair else ()
    context = {"context_length": pair.context_limit, "max_input_tokens": pair.context_limit} if pair else {}
    if pair:
        context |= {"dflash": pair.why_plain is None, "block_size": pair.block_size}
        context |= {"tools": pair.can_call_tools, "thinking": pair.can_think, "reasoning_effort": pair.takes_effort}
        context |= {"vision": pair.can_see}
    found = {name: context for name in loaded} | {name: {} for other in others if (name := model_id(other)) not in loaded}
    entry = {"object": "model", "created": _STARTED, "owned_by": "slipstream"}
    entry |= {"type": "model", "created_at": datetime.fromtimestamp(_STARTED, UTC).isoformat()}
    data = [{"id": name, "display_name": name, **entry, **more} for name, more in found.items()]
    return {"object": "list", "data": data, "has_more": False, "first_id": data[0]["id"], "last_id": data[-1]["id"]}
