"""An engine that renders prompts with real chat templates, and replies from a script."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.events import Event, Finished, PrefillProgress
from mlx_engine.contract.requests import CountTokens, GenerationRequest
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine import prepare
from mlx_engine.formats.sight import Sight
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done


class PromptingEngine(ScriptedEngine):
    """Counts tokens and prepares replies as the engine does, but has no weights.

    Attributes:
        pairs: tokenizers with their sights, by name. `use` chooses one.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(pair=replace(PAIR, context_limit=limit, can_think=True, can_see=True, can_call_tools=True))
        self.made: Any = None

    def use(self, tokenizer: TokenizerWrapper, sight: Sight | None) -> None:
        """Render the next prompts with a tokenizer's template."""
        target = SimpleNamespace(rows=len(tokenizer), vocabulary=len(tokenizer))
        images = SimpleNamespace(sight=lambda cancel: sight) if sight is not None else None
        self.made = SimpleNamespace(tokenizer=tokenizer, info=self.pair, target=target, images=images)

    def count_tokens(self, request: CountTokens) -> TokenCount:
        self.counted.append(request)
        return prepare.count_tokens(self.made, request)

    def _play(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event | None]:
        self.requests.append(request)
        prepared = prepare.prepare(self.made, request, None, with_boundaries=False)
        tokens = len(prepared.prompt.tokens)
        yield PrefillProgress(tokens, tokens, 0, prepared.left_out, prepared.cut)
        for event in self.replies.pop(0) if self.replies else (commit("Fine."), done()):
            if isinstance(event, Finished):
                event = replace(event, stats=replace(event.stats, prompt_tokens=tokens))
            yield event
