"""Past tool calls as the model wrote them.

Clients return a call's arguments with other number formats, or with keys in another order. The prompt would then differ from what
the model wrote, and the rest of the chat would be read again.
"""

import json
from collections import OrderedDict
from dataclasses import replace

from mlx_engine.contract.client import Deliver
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import GenerationRequest, ToolCall

_MOST = 4096  # calls


class CallCache:
    """The latest calls, restored in requests unless the client changed them."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, ToolCall] = OrderedDict()

    def keeping(self, deliver: Deliver) -> Deliver:
        """Return a `deliver` that keeps the calls among the events."""

        def keep(event: Event | None) -> None:
            if isinstance(event, ToolCall):
                self._calls[event.id] = event
                if len(self._calls) > _MOST:
                    self._calls.popitem(last=False)
            deliver(event)

        return keep

    def restored(self, request: GenerationRequest) -> GenerationRequest:
        """Return a request with its calls as the model wrote them."""
        messages = tuple(replace(message, calls=tuple(map(self._restored, message.calls))) for message in request.messages)
        return replace(request, messages=messages)

    def _restored(self, call: ToolCall) -> ToolCall:
        known = self._calls.get(call.id)
        if known is None or known.name != call.name:
            return call
        try:
            return known if json.loads(known.arguments) == json.loads(call.arguments) else call
        except (ValueError, RecursionError):
            return call
