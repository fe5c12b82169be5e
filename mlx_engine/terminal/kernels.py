"""`slipstream doctor --kernels`: tries our Metal kernels with a pair, says which are used and why, and keeps that."""

import argparse
import json
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version

import mlx.core as mx

from mlx_engine import proving, self_check
from mlx_engine.comparing import collect
from mlx_engine.errors import UserError
from mlx_engine.events import Failed, Finished, GenerationRequest, Message
from mlx_engine.kernels.operations import KERNELS, Operations
from mlx_engine.proving import NO_METAL, Trial
from mlx_engine.terminal.pair import MakeEngine, open_pair

_QUESTION = "Write the numbers from one to forty in words, separated by commas."
_TOKENS = 64


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Try and print; 0 also where kernels are off, because then plain MLX does their work."""
    if not mx.metal.is_available():
        trials = tuple(Trial(name, False, NO_METAL) for name in KERNELS)
        _print(given, trials, "", kept=False)
        return 0
    engine, info = open_pair(make_engine, given)
    pair = engine.pair  # type: ignore[attr-defined]  # trying kernels takes an engine in this process
    request = GenerationRequest(
        messages=(Message("user", _QUESTION),), max_tokens=_TOKENS, ignore_eos=True, width=info.block_size, seed=1, reuse=False
    )

    def replies(operations: Operations) -> tuple[float, tuple[int, ...]]:
        pair.use(operations)
        seen = list(engine.generate(request))
        if isinstance(seen[-1], Failed):
            raise UserError(seen[-1].error)
        assert isinstance(seen[-1], Finished)
        return 1 / (seen[-1].stats.decode_tok_s or float("inf")), tuple(collect(seen, seen[-1]).tokens)

    wrong = {step.name: step.detail for step in self_check.check_kernels() if step.state == "fail"}
    found = []
    for trial in proving.prove(lambda name: wrong.get(name, ""), replies):
        found.append(trial)
        if sys.stderr.isatty():
            print(f"\r\033[K{trial.kernel}: {trial.why}", end="", file=sys.stderr, flush=True)
    trials = tuple(found)
    kept = proving.keep(pair, trials)
    pair.use(proving.operations(pair))
    _print(given, trials, f"{info.name}, {str(pair.dtype).removeprefix('mlx.core.')}", kept)
    return 0


def _print(given: argparse.Namespace, trials: tuple[Trial, ...], pair: str, kept: bool) -> None:
    device = str(mx.device_info().get("device_name", "")) if mx.metal.is_available() else platform.machine()
    machine = f"{platform.system()} {platform.release()}, {device}, mlx {version('mlx')}"
    if given.json:
        print(json.dumps({"machine": machine, "pair": pair, "kept": kept, "kernels": [asdict(trial) for trial in trials]}))
        return
    print(f"{machine}{', ' if pair else ''}{pair}")
    print(f"{'kernel':22}{'':6}{'plain MLX':>12}{'kernel':>12}  why")
    for trial in trials:
        times = "".join(f"{'–' if each is None else f'{1000 * each:.2f} ms':>12}" for each in (trial.plain_s, trial.kernel_s))
        print(f"{trial.kernel:22}{'used' if trial.used else 'off':6}{times}  {trial.why}")
    print("Times are a token's, in whole replies." if pair else "Plain MLX does their work.")
