"""`python -m resources.demo_pair.training OUT_DIR`: tokenizer, target and drafter, from nothing."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from . import data, drafter, target, tokenizer
from .model import Shape


def main() -> None:
    """Train the pair into OUT_DIR/target and OUT_DIR/drafter."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chats", type=int, default=130_000, help="conversations in the training text")
    parser.add_argument("--target-steps", type=int, default=3400)
    parser.add_argument("--drafter-steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["target", "drafter"], help="drafter: take the target that OUT_DIR holds")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:6.0f} s] {text}", flush=True)

    conversations = data.chats(options.chats, options.seed)
    words = tokenizer.train(chat.prompt() + chat.reply + "<|im_end|>\n" for chat in conversations[:20_000])
    row = data.row(words, conversations)
    say(f"{len(row.ids) / 1e6:.1f} M tokens, {row.reply.float().mean():.2f} of them in replies")
    shape = Shape()
    if options.only != "drafter":
        tokenizer.save(words, options.out / "target")
        target.train(row, shape, options.out / "target", options.target_steps, options.seed, say)
    if options.only != "target":
        frozen = target.load(options.out / "target", shape)
        drafter.train(row, frozen, shape, options.out / "drafter", options.drafter_steps, options.seed, say)


if __name__ == "__main__":
    main()
