"""Past tool calls as the model wrote them.

Clients return a call's arguments with other number formats, or with keys in another order. The prompt would then differ from what
the model wrote, and the rest of the chat would be read again.
"""

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Request, ToolCall
from mlx_engine.engine.host import Deliver, EngineDoor, Job

_MOST = 4096  # calls


class RestoringDoor:
    """An `EngineDoor` that keeps the latest calls, and restores them in requests.

    A call whose meaning the client has changed isn't restored.
    """

    def __init__(self, door: EngineDoor) -> None:
        self._door = door
        self._calls: OrderedDict[str, ToolCall] = OrderedDict()

    def submit(self, request: Request, deliver: Deliver) -> Job:
        def keeping(event: Event | None) -> None:
            if isinstance(event, ToolCall):
                self._calls[event.id] = event
                if len(self._calls) > _MOST:
                    self._calls.popitem(last=False)
            deliver(event)

        if isinstance(request, GenerationRequest | CountTokens) and any(message.calls for message in request.messages):
            messages = tuple(replace(message, calls=tuple(map(self._restored, message.calls))) for message in request.messages)
            request = replace(request, messages=messages)
        return self._door.submit(request, keeping)

    def close(self, closed: Callable[[], None] | None = None) -> None:
        self._door.close(closed)

    def _restored(self, call: ToolCall) -> ToolCall:
        known = self._calls.get(call.id)
        if known is None or known.name != call.name:
            return call
        try:
            return known if json.loads(known.arguments) == json.loads(call.arguments) else call
        except (ValueError, RecursionError):
            return call
