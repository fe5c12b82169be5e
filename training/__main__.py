"""`python -m training OUT_DIR`: train tokenizer, target and drafter from scratch."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from . import NEEDS_TORCH

try:
    import torch
except ModuleNotFoundError:
    raise SystemExit(NEEDS_TORCH) from None

from . import data, drafter, target, tokenizer
from .model import Shape
from .optimizer import Schedule


def main() -> None:
    """Train the pair into OUT_DIR/target and OUT_DIR/drafter."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chats", type=int, default=130_000, help="conversations in the training text")
    parser.add_argument("--target-steps", type=int, default=4200)
    parser.add_argument("--drafter-steps", type=int, default=1250)
    parser.add_argument("--start", type=int, default=0, help="continue the target in OUT_DIR from this step")
    parser.add_argument("--drafter-start", type=int, default=0, help="continue the drafter in OUT_DIR from this step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["target", "drafter"], help="train one model; the drafter uses the target in OUT_DIR")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    began = time.monotonic()

    def log(text: str) -> None:
        print(f"[{time.monotonic() - began:6.0f} s] {text}", flush=True)

    shape = Shape()
    conversations = data.chats(options.chats, options.seed)
    words = tokenizer.train(chat.prompt() + chat.reply + "<|im_end|>\n" for chat in conversations[:20_000])
    row = data.row(words, conversations)
    log(f"{len(row.ids) / 1e6:.1f} M tokens, {row.reply.float().mean():.2f} of them in replies")
    folder = options.out / "target"
    if options.only in (None, "target"):
        tokenizer.save(words, folder)
        schedule = Schedule(options.target_steps, options.target_steps // 2, start=options.start)
        target.train(row, shape, folder, schedule, options.seed, log, resume=options.start > 0)
    if options.only in (None, "drafter"):
        frozen = target.load(folder, shape)
        start = options.drafter_start
        schedule = Schedule(options.drafter_steps, start=start)
        drafter.train(row, frozen, shape, options.out / "drafter", schedule, options.seed, log, resume=start > 0)


if __name__ == "__main__":
    main()
