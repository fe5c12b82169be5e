"""Compare several replies at the same time with other engines: same pair, same prompts, one process, interleaved.

    tests/peers/run.sh --streams [--runs 3] [--streams 2,4,8] [--tokens 128] [--prompts 8] [--past-the-end] [--json]

Compared greedily in float32: mlx-lm's `BatchGenerator` and mlx-dspark 0.20.3's batches, both plain, because theirs take no DFlash
drafter, and mlx-vlm 0.7.10's batched DFlash loop. Replies end as users' replies do, or run to the token limit if asked; after
their end, the demo pair writes text that no drafter predicts. A rate is that of all replies together, from when all have their
first token to the end of the last one. On a busy computer, compare the rates per second of processor time. A text is compared with
the same engine's text of the prompt alone. mlx-vlm's Qwen3 can't give features, so its loop gets mlx-lm's model. All targets share
one set of weights.
"""

import argparse
import json
import os
import platform
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import date
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

from mlx_engine.hardware import blas

IN_USE = blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
from mlx_lm import load as mlx_lm_load  # noqa: E402
from mlx_lm.models.base import create_attention_mask  # noqa: E402
from mlx_lm.models.cache import BatchKVCache, KVCache  # noqa: E402

from mlx_engine.calibration.calibration import calibrate  # noqa: E402
from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.contract.events import Commit  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Mode  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.formats import chat_prompt  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402
from tests.benchmarks.peers import _version, same_weights  # noqa: E402

Texts = list[list[int]]
Times = tuple[float, float]  # seconds of wall time and of processor time
Decoder = Callable[[Sequence[list[int]], int], tuple[Texts, int, Times]]  # texts, tokens after the first


def now() -> Times:
    return time.perf_counter(), time.process_time()


def since(began: Times) -> Times:
    wall, processor = now()
    return wall - began[0], processor - began[1]


def ours(engine: Engine, mode: Mode, ends: set[int]) -> Decoder:
    """Our engine, with replies that take turns as the host gives them."""

    def decode(prompts: Sequence[list[int]], limit: int) -> tuple[Texts, int, Times]:
        options: dict[str, Any] = {"mode": mode, "max_tokens": limit, "ignore_eos": not ends, "reuse": False}
        steps = [engine.steps(GenerationRequest(prompt_tokens=tuple(prompt), **options)) for prompt in prompts]
        texts: Texts = [[] for _ in prompts]
        began, tokens, going = None, 0, list(range(len(prompts)))
        while going:
            for at in list(going):
                events = next(steps[at], None)
                if events is None:
                    going.remove(at)
                    continue
                said = [token for event in events if isinstance(event, Commit) for token in event.tokens]
                texts[at] += said
                if began:
                    tokens += len(said)
                elif all(texts):
                    began = now()
        assert began is not None
        return texts, tokens, since(began)

    return decode


def mlx_lm_batches(target: Any, same: Any, ends: set[int]) -> Decoder:
    """mlx-lm's `BatchGenerator`."""
    from mlx_lm.generate import BatchGenerator

    model = same_weights(mlx_lm_load(str(target))[0], same)

    def decode(prompts: Sequence[list[int]], limit: int) -> tuple[Texts, int, Times]:
        made = BatchGenerator(model, max_tokens=limit, stop_tokens=[[end] for end in ends])
        places = {uid: at for at, uid in enumerate(made.insert([list(prompt) for prompt in prompts]))}
        texts: Texts = [[] for _ in prompts]
        began, tokens, going = None, 0, len(prompts)
        while going:
            responses = made.next_generated()
            for response in responses:
                texts[places[response.uid]].append(int(response.token))
                going -= response.finish_reason is not None
            if began:
                tokens += len(responses)
            elif all(texts):
                began = now()
        assert began is not None
        times = since(began)
        made.close()
        return texts, tokens, times

    return decode


def mlx_dspark_batches(target: Any, same: Any, ends: set[int]) -> Decoder:
    """mlx-dspark's batched plain decoding.

    It doesn't report the time of the first tokens, so that of a reply of one token is subtracted.
    """
    from mlx_dspark import batch_engine  # type: ignore[import-not-found]
    from mlx_dspark.load import load_target  # type: ignore[import-not-found]

    wrapped, tokenizer = load_target(str(target))
    same_weights(wrapped.model, same)
    batch_engine.eos_token_ids = lambda _: ends

    def timed(prompts: Sequence[list[int]], limit: int) -> tuple[Texts, Times]:
        began = now()
        found = batch_engine.batch_generate_baseline(wrapped, tokenizer, [list(prompt) for prompt in prompts], max_new_tokens=limit)
        return [[int(token) for token in one.token_ids] for one in found], since(began)

    def decode(prompts: Sequence[list[int]], limit: int) -> tuple[Texts, int, Times]:
        _, first = timed(prompts, 1)
        texts, (wall, processor) = timed(prompts, limit)
        return texts, sum(len(text) - 1 for text in texts), (wall - first[0], processor - first[1])

    return decode


class Tapped:
    """mlx-lm's model with the interface of mlx-vlm's targets, for batches."""

    def __init__(self, model: Any) -> None:
        self.model, self._head = model.model, model
        self.embed_tokens = model.model.embed_tokens

    def __call__(self, tokens: mx.array, cache: list[Any], capture_layer_ids: Sequence[int], **_: Any) -> SimpleNamespace:
        hidden, taps = self.model.embed_tokens(tokens), []
        mask = create_attention_mask(hidden, cache[0])
        for index, (layer, kept) in enumerate(zip(self.model.layers, cache, strict=True)):
            hidden = layer(hidden, mask, kept)
            if index in capture_layer_ids:
                taps.append(hidden)
        hidden = self.model.norm(hidden)
        logits = self._head.lm_head(hidden) if "lm_head" in self._head else self.model.embed_tokens.as_linear(hidden)
        return SimpleNamespace(logits=logits, hidden_states=taps, gdn_states=None)

    def rollback_speculative_cache(self, caches: list[Any], state: Any, accepted: Any, block: int) -> None:
        from mlx_vlm.speculative.cache_state import rollback_speculative_cache  # type: ignore[import-not-found]

        rollback_speculative_cache(caches, state, accepted, block)


class Ragged:
    """Features of rows of different lengths, which mlx-vlm splits again."""

    def __init__(self, rows: Sequence[mx.array]) -> None:
        self._rows, self.shape = rows, (len(rows), max(row.shape[1] for row in rows))

    def __getitem__(self, rows: slice) -> mx.array:
        return self._rows[rows.start]


def mlx_vlm_dflash(target: Any, drafter: Any, same: Any, ends: set[int]) -> Decoder:
    """mlx-vlm's batched DFlash loop. Prompts are computed one by one, without padding."""
    from mlx_vlm.speculative.dflash import _dflash_rounds_batch  # type: ignore[import-not-found]
    from mlx_vlm.speculative.drafters import load_drafter  # type: ignore[import-not-found]

    model = Tapped(same_weights(mlx_lm_load(str(target))[0], same))
    draft, _ = load_drafter(str(drafter))
    draft.set_dtype(mx.float32)
    mx.eval(draft.parameters())
    taps = list(draft.config.target_layer_ids)

    def decode(prompts: Sequence[list[int]], limit: int) -> tuple[Texts, int, Times]:
        rows, features, firsts = [], [], []
        for prompt in prompts:
            cache = [KVCache() for _ in model.model.layers]
            seen = model(mx.array([prompt]), cache, taps)
            features.append(mx.concatenate(seen.hidden_states, axis=-1))
            firsts.append(cast(int, mx.argmax(seen.logits[0, -1]).item()))
            mx.eval([each.state for each in cache], features[-1])
            rows.append(cache)
        merged = [BatchKVCache.merge([row[at] for row in rows]) for at in range(len(rows[0]))]
        texts: Texts = [[first] for first in firsts]
        began = now()
        given: dict[str, Any] = {"sampler": lambda logits: mx.argmax(logits, axis=-1), "greedy_sampling": True}
        given["stop_check"] = lambda _, token: int(token) in ends
        for found, _ in _dflash_rounds_batch(
            model, draft, merged, Ragged(features), first_bonus=mx.array(firsts), max_tokens=limit, **given
        ):
            for text, token in zip(texts, found, strict=True):
                if token is not None and len(text) < limit:
                    text.append(int(token))
        return texts, sum(len(text) - 1 for text in texts), since(began)

    return decode


def groups(prompts: Sequence[list[int]], streams: int) -> list[Sequence[list[int]]]:
    return [prompts[at : at + streams] for at in range(0, len(prompts) - streams + 1, streams)]


def measure(decoders: dict[str, Decoder], prompts: list[list[int]], asked: argparse.Namespace) -> dict[str, Any]:
    """Return rates by decoder and number of streams, and how many texts are those alone."""
    counts, draw = sorted({1, *asked.streams}), random.Random(0)
    rates: dict[str, dict[int, list[Times]]] = {name: {count: [] for count in counts} for name in decoders}
    texts: dict[str, dict[int, list[Texts]]] = {name: {count: [] for count in counts} for name in decoders}
    for decode in decoders.values():
        decode(prompts[: max(counts)], 16)
    for _ in range(asked.runs):
        for count in counts:
            for name in draw.sample(list(decoders), len(decoders)):
                found = [decoders[name](group, asked.tokens) for group in groups(prompts, count)]
                mx.clear_cache()
                tokens = sum(each[1] for each in found)
                wall, processor = (sum(each[2][at] for each in found) for at in (0, 1))
                rates[name][count].append((tokens / wall, tokens / processor))
                texts[name][count].append([text for each in found for text in each[0]])
    return {
        name: {
            count: {
                "tok_s": median(wall for wall, _ in rates[name][count]),
                "tok_processor_s": median(processor for _, processor in rates[name][count]),
                "runs": rates[name][count],
                "equal": sum(
                    ours == alone
                    for run, single in zip(texts[name][count], texts[name][1], strict=True)
                    for ours, alone in zip(run, single, strict=False)
                ),
                "compared": sum(len(run) for run in texts[name][count]),
            }
            for count in counts
        }
        for name in decoders
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/peers/run.sh --streams", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--streams", type=lambda text: [int(part) for part in text.split(",")], default=[2, 4, 8])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--past-the-end", action="store_true", help="let replies run to the token limit")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    target, drafter = demo_pair()
    engine = Engine()
    for _ in engine.load(target, drafter):
        pass
    for _ in calibrate(engine.pair, threading.Event(), for_later=False):
        pass
    same, ends = engine.pair.target.model, set() if asked.past_the_end else set(engine.pair.tokenizer.eos_token_ids)
    decoders: dict[str, Decoder] = {"plain": ours(engine, "plain", ends), "dflash": ours(engine, "dflash", ends)}
    others: dict[str, Callable[[], Decoder]] = {
        "mlx-lm": lambda: mlx_lm_batches(target, same, ends),
        "mlx-dspark": lambda: mlx_dspark_batches(target, same, ends),
        "mlx-vlm DFlash": lambda: mlx_vlm_dflash(target, drafter, same, ends),
    }
    prompts = [chat_prompt.template(engine.pair.tokenizer, prompt.messages) for prompt in PROMPTS[: asked.prompts]]
    missing = {}
    for name, make in others.items():
        try:
            decoder = make()
            decoder(prompts[:2], 16)  # some fail only when they decode
            decoders[name] = decoder
        except Exception as error:  # other decoders may fail in any way; the row says so
            missing[name] = (str(error).strip() or type(error).__name__).splitlines()[0]
    before = os.getloadavg()[0]
    report = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "blas": asdict(IN_USE),
        "date": date.today().isoformat(),
        "versions": {name: _version(name) for name in ("mlx", "mlx-lm", "mlx-vlm", "mlx-dspark")},
        "cannot_run": missing,
        "decoders": measure(decoders, prompts, asked),
        "load_average": [before, os.getloadavg()[0]],
    }
    print(json.dumps(report)) if asked.json else show(report, asked)


def show(report: dict[str, Any], asked: argparse.Namespace) -> None:
    before, after = report["load_average"]
    print(f"{asked.prompts} prompts x {asked.runs} runs, up to {asked.tokens} tokens, float32, load {before:.1f} to {after:.1f}")
    for name, sides in report["decoders"].items():
        for count, side in sides.items():
            rates = f"{side['tok_s']:7.1f} tok/s {side['tok_processor_s']:7.1f} per processor second"
            print(f"  {name:<16} {count} {rates}   {side['equal']} of {side['compared']} equal")
    for name, reason in report["cannot_run"].items():
        print(f"  {name:<16} cannot run: {reason}")


if __name__ == "__main__":
    main()
