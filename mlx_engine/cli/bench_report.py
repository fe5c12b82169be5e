"""The requests of a benchmark, their order, and its report."""

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from mlx_engine.cli.bench_prompts import BenchPrompt
from mlx_engine.cli.bench_results import DFLASH, PLAIN, BenchMode
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.requests import GenerationRequest, Sampling
from mlx_engine.hardware import blas, machine
from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS

_ALTERNATING = (PLAIN, DFLASH)
_GROUP = 4  # prompts between measurements of fixed widths


@dataclass(frozen=True)
class BenchSettings:
    """How the replies of a benchmark are generated."""

    max_tokens: int
    temperature: float = 0.0
    thinking: bool = False

    def request(self, prompt: BenchPrompt, mode: BenchMode, run: int) -> GenerationRequest:
        """Return the request of a reply. All modes of a run have the same seed."""
        return GenerationRequest(
            prompt.messages,
            mode=mode.mode,
            width=mode.width,
            sampling=Sampling(temperature=self.temperature),
            seed=max(run, 0),
            max_tokens=self.max_tokens,
            thinking=self.thinking,
            reuse=False,
        )


def order(
    prompts: Sequence[BenchPrompt], number: int, fixed: tuple[BenchMode, ...] = ()
) -> list[tuple[int, BenchPrompt, BenchMode]]:
    """Return the order of a run: prompt index, prompt, and mode."""
    found = []
    for start in range(0, len(prompts), _GROUP):
        group = list(enumerate(prompts))[start : start + _GROUP]
        for index, prompt in group:
            found += [(index, prompt, mode) for mode in (_ALTERNATING if (number + index) % 2 else _ALTERNATING[::-1])]
        for index, prompt in group if fixed else ():
            first = (number + index) % len(fixed)
            found += [(index, prompt, mode) for mode in fixed[first:] + fixed[:first]]
    return found


def load_averages() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def describe(info: PairInfo, name: str, settings: BenchSettings, load_before: list[float]) -> dict[str, Any]:
    """Return what a report says about the pair, the machine, and the prompts.

    Args:
        info: the pair.
        name: of the set of prompts.
        settings: of the replies.
        load_before: the machine's load before the first reply.
    """
    return {
        "pair": {
            "name": info.name,
            "target": info.target,
            "drafter": info.drafter,
            "drafter_kind": info.drafter_kind,
            "family": info.family,
            "block_size": info.block_size,
            "drafter_weights": info.drafter_weights,
            "tuned": info.tuned,
            "remote": info.remote,
        },
        "machine": _machine(load_before, load_averages()) | {"computers": info.computers},
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "set": name,
        "source": asdict(PUBLISHED_SETS[name]) if name in PUBLISHED_SETS else None,
        **asdict(settings),
        "thinking": settings.thinking and info.can_think,
    }


def _machine(load_before: list[float], load_after: list[float]) -> dict[str, Any]:
    in_use, facts = blas.prepare(), machine.load_facts()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "device": "Metal" if in_use.name == "metal" else f"CPU, {os.cpu_count()} cores, {platform.machine()}",
        "blas": in_use.name,
        "threads": in_use.threads,
        "load_before": load_before,
        "load_after": load_after,
        "python": platform.python_version(),
        "mlx": version("mlx"),
        "mlx_lm": version("mlx-lm"),
        "facts": asdict(facts) if facts else None,
    }
