"""One drafter case of the reference outputs: every round, through one context."""

import json
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.dflash.model import DFlashDrafter
from mlx_engine.drafters.dflash2.model import DFlash2Drafter, previous
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.loading.drafter_files import load

TOLERANCE = 1e-3
_GREEDY = Chooser(Sampling(), 0)


class Differences:
    """The largest difference of each field, and what is wrong."""

    def __init__(self) -> None:
        self.largest: dict[str, float] = {}
        self.wrong: list[str] = []

    def compare(self, name: str, field: str, value: mx.array, stored: mx.array, tolerance: float = TOLERANCE) -> None:
        """Numbers, within the tolerance."""
        if value.shape != stored.shape:
            self.wrong.append(f"{name}: {field} has shape {list(value.shape)} and not {list(stored.shape)}")
            return
        difference = mx.abs(value - stored).max().item()
        if not difference <= tolerance:  # also when it is not a number
            self.wrong.append(f"{name}: {field} differ by {difference:.2g}")
        self.largest[field] = max(self.largest.get(field, 0.0), difference)

    def same(self, name: str, field: str, value: list, stored: list) -> None:
        """Whole numbers, exactly."""
        if value != stored:
            self.wrong.append(f"{name}: other {field}")

    def __str__(self) -> str:
        return ", ".join(f"{field.replace('_', ' ')} {difference:.1e}" for field, difference in self.largest.items())


def check(folder: Path) -> tuple[str, list[str]]:
    """What was looked at, with the largest difference of each field, and what is wrong.

    Raises:
        UserError: the engine does not support this drafter.
        Exception: whatever else a damaged case brings about.
    """
    target = mx.load(str(folder / "target.safetensors"))
    table = target["embed_tokens.weight"]
    head = target.get("lm_head.weight", table)
    scale = target.get("embed_scale", mx.array(1.0))
    drafter = load(
        folder / "drafter",
        mx.float32,
        embed=lambda tokens: table[tokens] * scale,
        head=lambda hidden: hidden @ head.T,
    )
    stored = mx.load(str(folder / "rounds.safetensors"))
    described = json.loads((folder / "rounds.json").read_text(encoding="utf-8"))
    rounds = described["rounds"]
    found = Differences()
    for layer in described.get("resolved_layers", []):
        rule = [drafter.config.causal[layer["layer"]], drafter.config.windows[layer["layer"]]]
        found.same(f"layer {layer['layer']}", "mask rule", rule, [layer["causal"], layer["window"]])
    context = drafter.context()
    for one in rounds:
        name = one["prefix"]
        drafter.inject(context, stored[f"{name}.target_hidden"])
        found.same(name, "start", [context.position], [one["start"]])
        _round(found, drafter, context, name, {key.split(".")[1]: stored[key] for key in stored if key.startswith(f"{name}.")})
    skipped = {key.split(".")[0] for key in stored} - {one["prefix"] for one in rounds}
    if skipped or not rounds:
        found.wrong.append(f"rounds.json describes {len(rounds)} rounds, but not {', '.join(sorted(skipped)) or 'any'}")
    return f"{len(rounds)} rounds, largest difference: {found}", found.wrong


def _round(found: Differences, drafter: DFlashDrafter, context: DraftContext, name: str, stored: dict[str, mx.array]) -> None:
    anchor, masks = stored["block_ids"][:1].astype(mx.uint32), stored["block_ids"][1:].tolist()
    rows = stored["block_ids"].size + 1 - drafter.config.first_row  # one more than the rows that propose
    found.same(name, "masks", [drafter.config.mask_token] * len(masks), masks)
    hidden = drafter.hidden(context, anchor, rows)
    logits = drafter.logits(hidden)
    tokens = drafter.propose(context, anchor, rows, _GREEDY, None)
    found.compare(name, "hidden", hidden, stored["hidden"])
    found.compare(name, "logits", logits, stored["logits"])
    found.same(name, "tokens", tokens.tolist(), stored["tokens"].tolist())
    if not isinstance(drafter, DFlash2Drafter):
        found.same(name, "candidates", [field for field in stored if "candidate" in field or "selector" in field], [])
    else:
        for field, value in _candidates(drafter, anchor, hidden, logits, tokens):
            if field == "candidates":
                found.same(name, field, value.tolist(), mx.sort(stored[field], axis=-1).tolist())
            else:
                by_id = mx.take_along_axis(stored[field], mx.argsort(stored["candidates"], axis=-1), axis=-1)
                found.compare(name, field, value, by_id)


def _candidates(
    drafter: DFlash2Drafter, anchor: mx.array, hidden: mx.array, logits: mx.array, tokens: mx.array
) -> Iterator[tuple[str, mx.array]]:
    """Candidates by rising id; their logits; their scores after the token that was chosen one row before."""
    ids, unary = drafter.candidates(logits)
    order = mx.argsort(ids, axis=-1)
    yield "candidates", mx.take_along_axis(ids, order, axis=-1).astype(mx.int32)
    yield "candidate_logits", mx.take_along_axis(unary, order, axis=-1)
    scores = drafter.scores(previous(anchor, ids), ids, unary, hidden)
    before = mx.argmax(ids[:-1] == tokens[:-1, None], axis=-1)
    chosen = mx.concatenate([mx.zeros((1,), before.dtype), before])
    after = mx.take_along_axis(scores, chosen[:, None, None], axis=1)[:, 0]
    yield "selector_scores", mx.take_along_axis(after, order, axis=-1)
