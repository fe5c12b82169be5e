"""Draw one reply: the width of every round, how much was accepted, and where decoding was plain.

    python -m tests.benchmarks.width_picture [--out FILE.svg] [--prompt TEXT] [--temperature T] [--seed S]

Tokens run from left to right. A round is as broad as its tokens and as high as its width.
"""

import argparse
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

from mlx_engine.calibration.calibration import calibrate  # noqa: E402
from mlx_engine.contract.events import Commit, Finished, Round, Stats  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402

_STEP, _ROW, _LEFT, _TOP = 3.0, 11.0, 64.0, 56.0  # pixels per token and row, margins
_INK, _GREY, _KEPT, _COPIED, _REFUSED, _PLAIN = "#1d2733", "#6b7682", "#2f7fd6", "#1f9d6b", "#c9dcf2", "#f0b37e"


@dataclass(frozen=True)
class Passed:
    """A round, or a plain step (width 1)."""

    width: int
    accepted: int
    proposer: str


def record(engine: Engine, request: GenerationRequest) -> tuple[list[Passed], Stats]:
    """Return the passes of one reply in order."""
    passes: list[Passed] = []
    known, prefilled = False, False
    for event in engine.generate(request):
        match event:
            case Round():
                passes.append(Passed(event.width, event.accepted, event.proposer))
                known = True
            case Commit() if not prefilled:
                prefilled = True
            case Commit() if known:
                known = False
            case Commit():
                passes += [Passed(1, 0, "target")] * len(event.tokens)
            case Finished():
                return passes, event.stats
    raise AssertionError("a reply ends with Finished")


def picture(passes: list[Passed], stats: Stats, title: str) -> str:
    """Return an SVG."""
    block = max(16, *(each.width for each in passes))
    broad = _LEFT + 24 + _STEP * sum(each.accepted + 1 for each in passes)
    broad, base = max(broad, 640), _TOP + _ROW * block
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{broad:.0f}" height="{base + 64:.0f}" '
        f'viewBox="0 0 {broad:.0f} {base + 64:.0f}" font-family="sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{broad:.0f}" height="{base + 64:.0f}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    x = _LEFT
    for colour, words in ((_KEPT, "drafts kept"), (_COPIED, "copies kept"), (_REFUSED, "tested in vain"), (_PLAIN, "plain step")):
        parts.append(f'<rect x="{x}" y="32" width="10" height="10" fill="{colour}"/><text x="{x + 14}" y="41">{words}</text>')
        x += 34 + 7 * len(words)
    for rows in (1, 4, 8, 12, 16):
        if rows <= block:
            y = base - _ROW * rows
            parts.append(f'<path d="M{_LEFT - 4} {y} H{broad - 20:.0f}" stroke="#e3e7eb"/>')
            parts.append(f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end" fill="{_GREY}">{rows}</text>')
    parts.append(f'<text x="16" y="{(_TOP + base) / 2:.0f}" fill="{_GREY}" transform="rotate(-90 16 {(_TOP + base) / 2:.0f})" '
                 f'text-anchor="middle">rows of the pass</text>')  # fmt: skip
    x = _LEFT
    for each in passes:
        wide, high = _STEP * (each.accepted + 1) - 0.6, _ROW * each.width
        if each.width == 1:
            parts.append(f'<rect x="{x:.1f}" y="{base - high:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{_PLAIN}"/>')
        else:
            kept = _ROW * (each.accepted + 1)
            colour = _COPIED if each.proposer == "lookup" else _KEPT
            parts.append(f'<rect x="{x:.1f}" y="{base - high:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{_REFUSED}"/>')
            parts.append(f'<rect x="{x:.1f}" y="{base - kept:.1f}" width="{wide:.1f}" height="{kept:.1f}" fill="{colour}"/>')
        x += _STEP * (each.accepted + 1)
    tokens = sum(each.accepted + 1 for each in passes)
    for at in range(0, tokens + 1, 50):
        parts.append(f'<text x="{_LEFT + _STEP * at:.0f}" y="{base + 18:.0f}" text-anchor="middle" fill="{_GREY}">{at}</text>')
    plain = sum(each.width == 1 for each in passes)
    parts.append(
        f'<text x="{_LEFT}" y="{base + 40:.0f}" fill="{_GREY}">token of the reply; {stats.rounds} rounds, {plain} plain steps, '
        f"{stats.decode_tok_s or 0:.0f} tokens a second</text></svg>"
    )
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.width_picture", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("resources/pictures/width.svg"), help="where it goes")
    parser.add_argument("--prompt", default="How many positive whole-number divisors does 196 have?", help="what to answer")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--past-the-end", action="store_true", help="go on after the answer's end")
    asked = parser.parse_args()
    engine = Engine()
    for _ in engine.load(*demo_pair()):
        pass
    for _ in calibrate(engine.pair, threading.Event(), for_later=False):
        pass
    request = GenerationRequest(
        (Message("user", asked.prompt),),
        sampling=Sampling(asked.temperature),
        seed=asked.seed,
        max_tokens=asked.max_tokens,
        ignore_eos=asked.past_the_end,
        reuse=False,
    )
    passes, stats = record(engine, request)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(picture(passes, stats, asked.prompt), encoding="utf-8")
    print(f"{asked.out}: {stats.rounds} rounds, {stats.plain_steps} plain steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
