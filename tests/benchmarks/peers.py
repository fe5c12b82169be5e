"""Compare Slipstream with other decoders: same pair, same prompts, one process, interleaved.

    tests/peers/run.sh [--runs 3] [--processes 3] [--json]

creates an environment under build/ and runs this in it. Compared greedily in float32: plain decoding with mlx-lm's
`stream_generate`; mlx-lm's speculative decoding, which needs a small model (`--draft-model`); DFlash with z-lab's loop (`dflash`
0.1.0), `dflash-mlx` 0.1.8 and `mlx-dspark` 0.20.3, with unquantized drafters. A decoder that can't run is listed with the reason.
Rates are (tokens - 1) / (time of the last token - time of the first). All targets share one set of weights, because memory
placement alone can cost a few percent; the runs of several processes are pooled for the same reason.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mlx_engine.hardware import blas

IN_USE = blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx_lm import load as mlx_lm_load  # noqa: E402
from mlx_lm import stream_generate  # noqa: E402

from mlx_engine.calibration.calibration import calibrate  # noqa: E402
from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.cli.bench_ratio import paired_ratio  # noqa: E402
from mlx_engine.contract.errors import UserError  # noqa: E402
from mlx_engine.contract.events import Finished  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Mode  # noqa: E402
from mlx_engine.contract.whole_replies import fold  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.formats import chat_prompt  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402


class Run(NamedTuple):
    """One reply: tokens, and decode rate in tokens per second."""

    tokens: tuple[int, ...]
    rate: float


Decoder = Callable[[list[int], int], Run]


def _between(times: list[float], tokens: list[int]) -> Run:
    return Run(tuple(tokens), (len(tokens) - 1) / (times[-1] - times[0]))


def slipstream(engine: Engine, mode: Mode) -> Decoder:
    """Our engine."""

    def decode(prompt: list[int], limit: int) -> Run:
        events = list(engine.generate(GenerationRequest(prompt_tokens=tuple(prompt), mode=mode, max_tokens=limit, reuse=False)))
        ended = events[-1]
        assert isinstance(ended, Finished), ended
        reply = fold(events)
        return Run(reply.tokens, reply.stats.decode_tok_s or 0.0)

    return decode


def same_weights(model: Any, ours: Any) -> Any:
    """Give a model our target's arrays: equal numbers at the same memory addresses."""
    for layer, mine in zip(model.layers, ours.layers, strict=True):
        layer.update(getattr(mine, "layer", mine).parameters())  # a tapped layer wraps the layer
    for name, part in ours.model.items():
        if name != "layers" and isinstance(part, nn.Module):
            model.model[name].update(part.parameters())
    if "lm_head" in ours:
        model.lm_head.update(ours.lm_head.parameters())
    return model


def mlx_lm_plain(target: Path, ours: Any) -> Decoder:
    """mlx-lm's `stream_generate`."""
    model, tokenizer = mlx_lm_load(str(target))[:2]
    same_weights(model, ours)

    def decode(prompt: list[int], limit: int) -> Run:
        times, tokens = [], []
        for response in stream_generate(model, tokenizer, prompt, max_tokens=limit):
            times.append(time.perf_counter())
            tokens.append(response.token)
        return _between(times, tokens)

    return decode


def mlx_lm_speculative(target: Path, draft: Path | None, ours: Any) -> Decoder:
    """mlx-lm's `stream_generate` with a small draft model."""
    if draft is None:
        raise UserError(
            "no_draft_model", "it drafts with a small language model of the same vocabulary; give one with --draft-model"
        )
    model, tokenizer = mlx_lm_load(str(target))[:2]
    same_weights(model, ours)
    small = mlx_lm_load(str(draft))[0]
    small.set_dtype(mx.float32)
    mx.eval(small.parameters())

    def decode(prompt: list[int], limit: int) -> Run:
        times, tokens = [], []
        for response in stream_generate(model, tokenizer, prompt, max_tokens=limit, draft_model=small):
            times.append(time.perf_counter())
            tokens.append(response.token)
        return _between(times, tokens)

    return decode


def dflash_mlx(target: Path, drafter: Path, ours: Any) -> Decoder:
    """dflash-mlx's loop in its default mode."""
    from dflash_mlx.engine.events import TokenEvent  # type: ignore[import-not-found]
    from dflash_mlx.runtime import get_stop_token_ids, stream_dflash_generate  # type: ignore[import-not-found]
    from dflash_mlx.runtime.bundle import load_runtime_bundle  # type: ignore[import-not-found]
    from dflash_mlx.runtime.context import build_offline_runtime_context  # type: ignore[import-not-found]

    context = build_offline_runtime_context()
    bundle = load_runtime_bundle(model_ref=str(target), draft_ref=str(drafter), draft_quant="none", verify_config=context.verify)
    same_weights(bundle.target_model, ours)
    bundle.draft_model.set_dtype(mx.float32)
    mx.eval(bundle.draft_model.parameters())

    def decode(prompt: list[int], limit: int) -> Run:
        times, tokens = [], []
        for event in stream_dflash_generate(
            target_model=bundle.target_model,
            target_ops=bundle.target_ops,
            tokenizer=bundle.tokenizer,
            draft_model=bundle.draft_model,
            draft_backend=bundle.draft_backend,
            max_new_tokens=limit,
            stop_token_ids=get_stop_token_ids(bundle.tokenizer),
            prompt_tokens_override=prompt,
            runtime_context=context,
        ):
            if isinstance(event, TokenEvent):
                times.append(time.perf_counter())
                tokens.append(int(event.token_id))
        return _between(times, tokens)

    return decode


def z_lab(target: Path, drafter: Path, ours: Any) -> Decoder:
    """z-lab's own MLX loop."""
    from dflash import model_mlx  # type: ignore[import-not-found]

    model, tokenizer = mlx_lm_load(str(target))[:2]
    model_mlx.snapshot_download = lambda name, **_: name  # it would ask the hub; the folder is local
    draft = model_mlx.load_draft(str(drafter))
    same_weights(model, ours)
    draft.set_dtype(mx.float32)
    mx.eval(draft.parameters())

    def decode(prompt: list[int], limit: int) -> Run:
        times, tokens = [], []
        for response in model_mlx.stream_generate(model, draft, tokenizer, mx.array(prompt), max_tokens=limit):
            if response.tokens:
                times.append(time.perf_counter())
                tokens += response.tokens
        return _between(times, tokens)

    return decode


def mlx_dspark(target: Path, drafter: Path, ours: Any) -> Decoder:
    """mlx-dspark's DFlash loop, drafter in float32."""
    from mlx_dspark.generate import dflash_generate  # type: ignore[import-not-found]
    from mlx_dspark.load import load_dflash, load_target  # type: ignore[import-not-found]

    wrapped, tokenizer = load_target(str(target), require_tap=True)
    draft, _ = load_dflash(str(drafter), quantize=False)
    same_weights(wrapped.model, ours)
    draft.set_dtype(mx.float32)
    mx.eval(draft.parameters())
    draft.bind(wrapped.model)

    def decode(prompt: list[int], limit: int) -> Run:
        result = dflash_generate(
            wrapped, tokenizer, draft, prompt_ids=list(prompt), apply_chat_template=False, max_new_tokens=limit
        )
        return Run(tuple(result.token_ids), (result.num_tokens - 1) / (result.seconds - result.prefill_seconds))

    return decode


def measure(decoders: dict[str, Decoder], prompts: list[list[int]], runs: int, limit: int, seed: int) -> dict[str, list[list[Run]]]:
    """Run every decoder on every prompt, [prompts][runs], in random order after a warm-up.

    The order is random because a run is a little faster after one that kept both cores busy.
    """
    out: dict[str, list[list[Run]]] = {name: [[] for _ in prompts] for name in decoders}
    names, draw = list(decoders), random.Random(seed)
    for name in names:
        decoders[name](prompts[0], limit)
    for _ in range(runs):
        for index, prompt in enumerate(prompts):
            for name in draw.sample(names, len(names)):
                out[name][index].append(decoders[name](prompt, limit))
    return out


RATIOS = (
    ("plain", "mlx-lm"),
    ("dflash", "plain"),
    ("dflash", "z-lab"),
    ("dflash", "dflash-mlx"),
    ("dflash", "mlx-dspark"),
    ("dflash", "mlx-lm speculative"),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/peers/run.sh", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=3, help="counted runs of every prompt in each process (default 3)")
    parser.add_argument(
        "--processes", type=int, default=1, help="processes, one after the other, whose runs are pooled (default 1)"
    )
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), help=f"the first N of {len(PROMPTS)} prompts")
    parser.add_argument("--max-tokens", type=int, default=256, help="of each reply (default 256)")
    parser.add_argument("--target", type=Path, help="folder of the target (default: the demo pair)")
    parser.add_argument("--drafter", type=Path, help="folder of the drafter")
    parser.add_argument("--draft-model", type=Path, help="folder of a small language model, for mlx-lm's speculative decoding")
    parser.add_argument("--seed", type=int, default=0, help="of the order of turns")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    parts = [_part(asked)] if asked.processes == 1 else [_child(number) for number in range(asked.processes)]
    report = _pooled(parts)
    print(json.dumps(report)) if asked.json else _show(report)
    return 0


def _child(number: int) -> dict:
    """Return the report of another process like this one."""
    command = [sys.executable, "-m", "tests.benchmarks.peers", *sys.argv[1:], "--processes", "1", "--seed", str(number), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _part(asked: argparse.Namespace) -> dict:
    """Return one process's runs, [prompts][runs]: rates, and whether the text equals plain decoding's."""
    target, drafter = (asked.target, asked.drafter) if asked.target else demo_pair()
    engine = Engine()
    for _ in engine.load(target, drafter):
        pass
    for _ in calibrate(engine.pair, threading.Event(), for_later=False):  # as the app does once per pair
        pass
    ours = engine.pair.target.model
    decoders: dict[str, Decoder] = {
        "plain": slipstream(engine, "plain"),
        "dflash": slipstream(engine, "dflash"),
        "mlx-lm": mlx_lm_plain(target, ours),
    }
    others: dict[str, Callable[[], Decoder]] = {
        "z-lab": lambda: z_lab(target, drafter, ours),
        "dflash-mlx": lambda: dflash_mlx(target, drafter, ours),
        "mlx-dspark": lambda: mlx_dspark(target, drafter, ours),
        "mlx-lm speculative": lambda: mlx_lm_speculative(target, asked.draft_model, ours),
    }
    prompts = [chat_prompt.template(engine.pair.tokenizer, prompt.messages) for prompt in PROMPTS[: asked.prompts]]
    missing = {}
    for name, make in others.items():
        try:
            decoder = make()
            decoder(prompts[0], 16)  # some fail only when they decode
            decoders[name] = decoder
        except Exception as error:  # other decoders may fail in any way; the row says so
            missing[name] = (str(error).strip() or type(error).__name__).splitlines()[0]
    before = os.getloadavg()[0]
    measured = measure(decoders, prompts, asked.runs, asked.max_tokens, asked.seed)
    return {
        "load_average": [before, os.getloadavg()[0]],
        "cannot_run": missing,
        "rates": {name: [[run.rate for run in runs] for runs in table] for name, table in measured.items()},
        "same": {
            name: [[_same(run.tokens, measured["plain"][i][0].tokens) for run in runs] for i, runs in enumerate(table)]
            for name, table in measured.items()
        },
    }


def _pooled(parts: list[dict]) -> dict:
    """Return the runs of all processes together."""

    def pool(what: str) -> dict[str, list[list]]:
        return {
            name: [[value for part in parts for value in part[what][name][i]] for i in range(len(table))]
            for name, table in parts[0][what].items()
            if all(name in part[what] for part in parts)
        }

    rates, same = pool("rates"), pool("same")
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "blas": asdict(IN_USE),
        "load_average": [value for part in parts for value in part["load_average"]],
        "prompts": len(rates["plain"]),
        "processes": len(parts),
        "runs": len(rates["plain"][0]),
        "median_tok_s": {name: median(rate for runs in table for rate in runs) for name, table in rates.items()},
        "ratios": {
            f"{ours} / {theirs}": asdict(paired_ratio(rates[ours], rates[theirs])) for ours, theirs in RATIOS if theirs in rates
        },
        "cannot_run": parts[0]["cannot_run"],
        "date": date.today().isoformat(),
        "versions": {name: _version(name) for name in ("mlx", "mlx-lm", "dflash", "dflash-mlx", "mlx-dspark")},
        "same_text_as_plain": {name: sum(value for runs in table for value in runs) for name, table in same.items()},
        "rates": rates,
        "same": same,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _same(tokens: tuple[int, ...], reference: tuple[int, ...]) -> bool:
    """Whether two replies are equal apart from an end token, which some loops omit."""
    shorter, longer = sorted((tokens, reference), key=len)
    return longer[: len(shorter)] == shorter and len(longer) - len(shorter) <= 1


def _show(report: dict) -> None:
    loads, threads = report["load_average"], report["blas"]["threads"]
    print(
        f"{report['prompts']} prompts x {report['runs']} runs in {report['processes']} processes, float32, "
        f"{report['blas']['name']}, {threads} threads, load {min(loads):.1f} to {max(loads):.1f}"
    )
    for name, rate in report["median_tok_s"].items():
        same, replies = report["same_text_as_plain"][name], report["prompts"] * report["runs"]
        print(f"  {name:<19} {rate:7.1f} tok/s    {same} of {replies} texts as plain")
    for name, reason in report["cannot_run"].items():
        print(f"  {name:<19} cannot run: {reason}")
    for name, ratio in report["ratios"].items():
        print(f"  {name:<28} {ratio['value']:.3f}   (95 %: {ratio['low']:.3f} to {ratio['high']:.3f})")


if __name__ == "__main__":
    sys.exit(main())
