"""`python -m tests.demo_pair OUT_DIR`: train tokenizer, target and drafter."""

import argparse
import hashlib
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from mlx_engine.tuning.training_loop import TrainingPlan  # noqa: E402
from tests.demo_pair import drafter, target, text, tokenizer  # noqa: E402

WARM_PEAK = 0.7  # of the full rate: trained weights need less
FULL = TrainingPlan(steps=0, rate=3e-3, muon=0.02, seed=1)


class Record:
    """What a run was asked for, and its time over all interruptions, in a file next to the weights."""

    def __init__(self, file: Path, asked: argparse.Namespace) -> None:
        self._file, self._began = file, time.monotonic()
        told = {name: str(value) if isinstance(value, Path) else value for name, value in vars(asked).items() if name != "out"}
        if asked.warm_start is not None:
            weights = (asked.warm_start / "target" / "model.safetensors").read_bytes()
            told["warm_start_sha256"] = hashlib.sha256(weights).hexdigest()
        self._before = json.loads(file.read_text())["seconds"] if file.exists() else 0.0
        self._told = told
        self._write()

    def log(self, line: str) -> None:
        """Print a line with the time since the start of this process, and save the time of all."""
        print(f"[{time.monotonic() - self._began:6.0f} s] {line}", flush=True)
        self._write()

    def _write(self) -> None:
        seconds = round(self._before + time.monotonic() - self._began)
        self._file.write_text(json.dumps(self._told | {"seconds": seconds}, indent=1) + "\n")


def main() -> None:
    """Train the pair into OUT_DIR/target and OUT_DIR/drafter, or continue a run that was killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo_pair", description=main.__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chats", type=int, default=130_000, help="conversations in the training text")
    parser.add_argument("--tools-chats", type=int, default=25_000, help="conversations with tools")
    parser.add_argument("--target-steps", type=int, default=4200)
    parser.add_argument("--drafter-steps", type=int, default=1250)
    parser.add_argument("--warm-start", type=Path, metavar="PAIR", help="begin with this pair's tokenizer and weights")
    parser.add_argument(
        "--peak", type=float, help=f"highest rate / full rate (default: {WARM_PEAK} with a warm start, otherwise 1)"
    )
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warm: Path | None = asked.warm_start
    peak = asked.peak or (1.0 if warm is None else WARM_PEAK)
    plan = replace(FULL, rate=FULL.rate * peak, muon=FULL.muon * peak, seed=asked.seed)
    asked.out.mkdir(parents=True, exist_ok=True)
    record = Record(asked.out / "training.json", asked)
    log = record.log

    conversations, with_tools = text.chats(asked.chats, asked.seed), text.tools_chats(asked.tools_chats, asked.seed)
    folder = asked.out / "target"
    if warm is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(warm / "target" / name, folder / name)
    elif not (folder / "tokenizer.json").exists():
        some = (*conversations[:20_000], *with_tools[:2_000])
        tokenizer.save(tokenizer.train(chat.prompt() + chat.reply + "<|im_end|>\n" for chat in some), folder)
    words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    row, tools = text.row(words, conversations), text.row(words, with_tools)
    for name, one in (("without", row), ("with", tools)):
        log(f"{len(one.ids) / 1e6:.1f} M tokens {name} tools, {one.reply.mean():.2f} of them in replies")
    if not (folder / "model.safetensors").exists():
        weights = None if warm is None else mx.load(str(warm / "target" / "model.safetensors"))
        assert not isinstance(weights, mx.array | tuple)
        target.train(row, tools, replace(plan, steps=asked.target_steps, knee=0.5), folder, weights, log)
    if not (asked.out / "drafter").exists():
        steps = replace(plan, steps=asked.drafter_steps)
        drafter.train(row, tools, steps, folder, asked.out / "drafter", None if warm is None else warm / "drafter", log)


if __name__ == "__main__":
    main()
