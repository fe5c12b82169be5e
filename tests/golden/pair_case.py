"""One pair of the reference outputs: the features of its target, and every prompt, at every block size, in several schedules."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.draft_requests import Block
from mlx_engine.engine.engine import Engine
from mlx_engine.loading.loaded_pair import LoadedPair
from tests.golden import drafted_rounds
from tests.golden.drafter_case import Differences


class _Recorder:
    """A drafter that keeps what it proposed."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.proposed: list[mx.array] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drafter, name)

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        drafts = self._drafter.propose_packed(blocks)
        self.proposed += drafts
        return drafts


def check(folder: Path, thorough: bool = True) -> tuple[str, list[str]]:
    """What was looked at, with the largest difference of each field, and what is wrong.

    Checks the first prompt at two block sizes and the last one with plain steps in between, or if `thorough`, all in all ways.

    Raises:
        UserError: the engine does not support this pair.
        Exception: whatever else a damaged case brings about.
    """
    engine = Engine()
    drafter = folder / "drafter"
    for _ in engine.load(folder / "target", drafter if drafter.is_dir() else folder / "target"):
        pass
    pair = engine.pair
    if pair.info.why_plain or pair.drafter is None:
        raise UserError.of(pair.info.why_plain)
    pair.drafter = recorder = _Recorder(pair.drafter)  # type: ignore[assignment]  # it passes everything else on
    described = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    limit, cases, block = described["max_tokens"], described["cases"], described.get("block_size", pair.info.block_size)
    found, rounds = Differences(), 0
    if kind := described.get("kind"):
        drafted_rounds.check(found, kind, recorder, mx.load(str(folder / "rounds.safetensors")))
    else:
        _features(found, pair, cases[0]["prompt_ids"], mx.load(str(folder / "features.safetensors")))
    for number, case in enumerate(cases):
        if not thorough and 0 < number < len(cases) - 1:
            continue
        name, is_first, is_last = f"prompt {number}", number == 0, number == len(cases) - 1
        recorder.proposed.clear()
        accepted = _reply(found, engine, f"{name}, DFlash", case, limit, block)
        rounds += len(accepted)
        found.same(name, "accepted lengths", accepted, case["accepted"])
        found.same(name, "drafts", [draft.tolist() for draft in recorder.proposed], [one["draft"] for one in case["rounds"]])
        others = case.get("smaller_blocks", case.get("other_blocks", []))
        for other in others if thorough else others[:is_first]:
            size = other["block_size"]
            accepted = _reply(found, engine, f"{name}, blocks of {size}", case, limit, size)
            rounds += len(accepted)
            found.same(f"{name}, blocks of {size}", "accepted lengths", accepted, other["accepted"])
        if thorough:
            _reply(found, engine, f"{name}, plain", case, limit, None)
        if thorough or is_last:
            found.same(f"{name}, plain steps in between", "text", _mixed(pair, case, limit), case["output_ids"])
    return f"{len(cases)} prompts, {rounds} rounds, largest difference: {found}", found.wrong


def _features(found: Differences, pair: LoadedPair, prompt: list[int], stored: dict[str, mx.array]) -> None:
    logits, features = pair.target.forward_tapped(mx.array(prompt), pair.target.caches())
    found.compare("prompt 0", "features", features, stored["prompt_0.features"])
    found.compare("prompt 0", "last_logits", logits[-1], stored["prompt_0.last_logits"])


def _reply(found: Differences, engine: Engine, name: str, case: dict, limit: int, width: int | None) -> list[int]:
    """Ask for a reply (plain without a width), compare its tokens, and return the accepted lengths."""
    tokens: list[int] = []
    accepted: list[int] = []
    prompt = tuple(case["prompt_ids"])
    request = GenerationRequest(prompt_tokens=prompt, mode="dflash" if width else "plain", width=width, max_tokens=limit)
    for event in engine.generate(request):
        if isinstance(event, Failed):
            raise UserError.of(event)
        if isinstance(event, Commit):
            tokens.extend(event.tokens)
        elif isinstance(event, Finished):
            accepted = list(event.stats.accepted_per_round)
    found.same(name, "text", tokens, case["output_ids"])
    return accepted


def _mixed(pair: LoadedPair, case: dict, limit: int) -> list[int]:
    """Tokens of rounds with one or two plain steps after each, by a loop of its own."""
    target, drafter = pair.target, pair.drafter
    assert drafter is not None
    caches, context = target.caches(), drafter.context()
    greedy, ends = Chooser(Sampling(), 0), pair.tokenizer.eos_token_ids
    prompt = mx.array(case["prompt_ids"], mx.uint32)
    logits, features = target.forward_tapped(prompt, caches)
    drafter.inject(context, features, prompt)
    tokens = [int(mx.argmax(logits[-1]).item())]
    turn = 0
    while len(tokens) < limit and ends.isdisjoint(tokens):
        turn += 1
        rows = 1 if turn % 5 in (2, 4, 0) else min(drafter.config.block_size, limit - len(tokens) + 1)
        block = mx.array(tokens[-1:], dtype=mx.uint32)
        if rows > 1:
            block = mx.concatenate([block, drafter.propose(context, block, rows, greedy, None)])
        logits, features = target.forward_tapped(block, caches)
        chosen, drafted = mx.argmax(logits, axis=-1).tolist(), block[1:].tolist()
        kept = 1
        while kept < rows and drafted[kept - 1] == chosen[kept - 1]:
            kept += 1
        caches.rewind(rows - kept)
        drafter.inject(context, features[:kept], block[:kept])
        tokens += chosen[:kept]
    last = min((i for i, token in enumerate(tokens) if token in ends), default=limit)
    return tokens[: min(last + 1, limit)]
