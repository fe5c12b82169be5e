"""The count of a prompt's tokens by the engine."""

from collections.abc import Callable
from functools import partial

from app.session.context_use import ContextUse, NextPrompt, measure
from app.session.engine_adapter import Delivery, EngineAdapter
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Failed
from mlx_engine.contract.requests import CountTokens
from mlx_engine.contract.token_counts import TokenCount


class PromptCount:
    """A running count of a prompt, which can be canceled.

    Args:
        engine: the engine, with the pair that counts.
        prompt: the prompt.
        done: receives the use of the context, or None if the prompt can't be counted. Its reply would fail with the same message.
    """

    def __init__(self, engine: EngineAdapter, prompt: NextPrompt, done: Callable[[ContextUse | None], object]) -> None:
        self._engine, self._done = engine, done
        self.prompt = prompt
        self._steps = measure(prompt)
        self._request: CountTokens | None = None  # the latest one
        self.run: Run | None = None  # of this request
        self._submit(next(self._steps))

    def cancel(self) -> None:
        """Stop counting. `done` isn't called."""
        self._request = None
        if self.run is not None:
            self.run.cancel()

    def _submit(self, request: CountTokens) -> None:
        self._request = request
        self.run = self._engine.submit(request, partial(self._receive, request))

    def _receive(self, request: CountTokens, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if request is not self._request:
                return  # canceled, or this is the end of an earlier request
            match delivery.event:
                case TokenCount() as count:
                    try:
                        self._submit(self._steps.send(count))
                    except StopIteration as end:
                        self._end(end.value)
                case Failed() | None:
                    self._end(None)

    def _end(self, use: ContextUse | None) -> None:
        self._request = None
        self._done(use)
