"""`python -m training OUT_DIR`: train tokenizer, target and drafter."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from . import NEEDS_TORCH

try:
    import torch
except ModuleNotFoundError:
    raise SystemExit(NEEDS_TORCH) from None

from tokenizers import Tokenizer

from . import data, drafter, target, tokenizer
from .model import Drafter, Shape, Target
from .optimizer import Schedule

WARM_PEAK = 0.7  # of the full rate: trained weights need less


def main() -> None:
    """Train the pair into OUT_DIR/target and OUT_DIR/drafter, or continue a run that was killed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chats", type=int, default=130_000, help="conversations in the training text")
    parser.add_argument("--tools-chats", type=int, default=25_000, help="conversations with tools")
    parser.add_argument("--target-steps", type=int, default=4200)
    parser.add_argument("--drafter-steps", type=int, default=1250)
    parser.add_argument("--target-minutes", type=float, help="end after this time instead of a number of steps")
    parser.add_argument("--drafter-minutes", type=float, help="the same for the drafter")
    parser.add_argument(
        "--warm-start", type=Path, metavar="PAIR", help="begin with this pair's tokenizer and weights; its target may be narrower"
    )
    parser.add_argument(
        "--peak", type=float, help=f"highest rate / full rate (default: {WARM_PEAK} with a warm start, otherwise 1)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    warm: Path | None = options.warm_start
    peak = options.peak or (1.0 if warm is None else WARM_PEAK)

    began = time.monotonic()

    def log(text: str) -> None:
        print(f"[{time.monotonic() - began:6.0f} s] {text}", flush=True)

    conversations = data.chats(options.chats, options.seed)
    with_tools = data.tools_chats(options.tools_chats, options.seed)
    if warm is None:
        texts = (chat.prompt() + chat.reply + "<|im_end|>\n" for chat in (*conversations[:20_000], *with_tools[:2_000]))
        words = tokenizer.train(texts)
    else:
        words = Tokenizer.from_file(str(warm / "target" / "tokenizer.json"))
    row, tools = data.row(words, conversations), data.row(words, with_tools)
    for name, some in (("without", row), ("with", tools)):
        log(f"{len(some.ids) / 1e6:.1f} M tokens {name} tools, {some.reply.float().mean():.2f} of them in replies")
    folder = options.out / "target"
    if not (folder / "model.safetensors").exists():
        tokenizer.save(words, folder)
        model = Target(Shape()) if warm is None else target.widened(target.load(warm / "target"))
        schedule = Schedule(options.target_steps, seconds(options.target_minutes), knee=0.5, peak=peak)
        target.train(row, tools, model, folder, schedule, options.seed, lambda text: log(f"target: {text}"))
    folder = options.out / "drafter"
    if not (folder / "model.safetensors").exists():
        folder.mkdir(parents=True, exist_ok=True)
        drafting = Drafter(drafter.SHAPE, drafter.LAYERS) if warm is None else drafter.load(warm / "drafter")
        schedule = Schedule(options.drafter_steps, seconds(options.drafter_minutes), peak=peak)
        frozen = target.load(options.out / "target")
        drafter.train(row, tools, frozen, drafting, folder, schedule, options.seed, lambda text: log(f"drafter: {text}"))


def seconds(minutes: float | None) -> float | None:
    """Return the seconds of a time limit, if there is one."""
    return None if minutes is None else minutes * 60


if __name__ == "__main__":
    main()
