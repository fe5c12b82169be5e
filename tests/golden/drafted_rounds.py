"""The stored rounds of a pair's drafter: every field, through one context per prompt."""

from collections.abc import Callable
from itertools import groupby
from typing import Any
from unittest import mock

import mlx.core as mx

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.parts.context import LayerContext
from tests.golden.drafter_case import Differences

_GREEDY = Chooser(Sampling(), 0)


def check(found: Differences, kind: str, drafter: Any, stored: dict[str, mx.array]) -> None:
    """Compare the rounds of each prompt, in order."""
    names = sorted({name.rpartition(".")[0] for name in stored})
    for _, rounds in groupby(names, lambda name: name.partition(".")[0]):
        context, anchor = drafter.context(), mx.zeros(1, mx.uint32)
        for name in rounds:
            fields = {key.split(".")[-1]: stored[key] for key in stored if name in key}
            anchor = _KINDS[kind](found, name, drafter, context, anchor, fields)


def _dspark(found: Differences, name: str, drafter: Any, context: Any, before: mx.array, stored: dict[str, mx.array]) -> mx.array:
    anchor, rows = stored["block_ids"][:1].astype(mx.uint32), stored["tokens"].size + 1
    drafter.inject(context, stored["target_hidden"], mx.zeros(stored["target_hidden"].shape[:1], mx.uint32))
    found.same(name, "start", [context.position], stored["start"].tolist())
    hidden, tokens = drafter.hidden(context, anchor, rows), drafter.propose(context, anchor, rows, _GREEDY, None)
    base = drafter.logits(hidden)
    found.compare(name, "hidden", hidden, stored["hidden"][-rows + 1 :])
    found.compare(name, "base_logits", base, stored["base_logits"])
    found.compare(name, "logits", drafter.chained(base, mx.concatenate([anchor, tokens[:-1]])), stored["logits"])
    found.compare(name, "confidence_logits", context.confidence, stored["confidence_logits"])
    found.same(name, "tokens", tokens.tolist(), stored["tokens"].tolist())
    return anchor


def _mtp(found: Differences, name: str, drafter: Any, context: Any, before: mx.array, stored: dict[str, mx.array]) -> mx.array:
    tokens, rows = stored["tokens_in"].astype(mx.uint32), stored["tokens"].size + 1
    drafter.inject(context, stored["hidden_in"], mx.concatenate([before, tokens[:-1]]))
    found.same(name, "start", [context.position], stored["start"].tolist())
    hidden: list[mx.array] = []
    head, model = drafter.logits, drafter.logits.__self__
    with mock.patch.object(model, "logits", lambda state: hidden.append(state) or head(state)):
        drafts = drafter.propose(context, tokens[-1:], rows, _GREEDY, None)
    found.compare(name, "hidden", mx.concatenate(hidden), stored["hidden"])
    found.compare(name, "logits", head(mx.concatenate(hidden)), stored["logits"])
    found.same(name, "tokens", drafts.tolist(), stored["tokens"].tolist())
    return tokens[-1:]


def _eagle3(found: Differences, name: str, drafter: Any, context: Any, before: mx.array, stored: dict[str, mx.array]) -> mx.array:
    tokens, rows = stored["tokens_in"].astype(mx.uint32), stored["tokens"].size + 1
    drafter.inject(context, stored["features"], mx.concatenate([before, tokens[:-1]]))
    found.same(name, "start", [context.position + 1], stored["start"].tolist())
    drafts = drafter.propose(context, tokens[-1:], rows, _GREEDY, None)
    chain, hidden, logits = drafter.chain(context, rows), [], []
    for token in mx.split(mx.concatenate([tokens[-1:], drafts[:-1]]), rows - 1):
        logits.append(drafter.extend([chain], token))
        hidden.append(chain.features)
    found.compare(name, "hidden", mx.concatenate(hidden), stored["hidden"])
    found.compare(name, "logits", mx.concatenate(logits), stored["logits"])
    found.same(name, "tokens", drafts.tolist(), stored["tokens"].tolist())
    return tokens[-1:]


def _gemma4(found: Differences, name: str, drafter: Any, context: Any, before: mx.array, stored: dict[str, mx.array]) -> mx.array:
    context, rows, position = drafter.context(), stored["tokens"].size + 1, int(stored["position"].item())
    for window, kind in zip(drafter.config.windows, ("sliding_attention", "full_attention"), strict=True):
        both = mx.stack([stored[f"{part}_{kind}"] for part in ("keys", "values")])
        context.kinds[window] = LayerContext.of(window, 0, both[:, None])
    context.position = position  # of the hidden state
    context.kinds["features"].first = position
    context.pair(stored["hidden_in"])
    context.position += 1
    hidden: list[mx.array] = []
    head, model = drafter.logits, drafter.logits.__self__
    with mock.patch.object(model, "logits", lambda state: hidden.append(state) or head(state)):
        drafts = drafter.propose(context, stored["bonus"].astype(mx.uint32), rows, _GREEDY, None)
    found.compare(name, "hidden", mx.concatenate(hidden), stored["hidden"])
    found.compare(name, "logits", head(mx.concatenate(hidden)), stored["logits"])
    found.same(name, "tokens", drafts.tolist(), stored["tokens"].tolist())
    return before


_KINDS: dict[str, Callable[..., mx.array]] = {"dspark": _dspark, "eagle3": _eagle3, "gemma4_assistant": _gemma4, "mtp": _mtp}
