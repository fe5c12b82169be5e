"""A reply on the terminal: its text as it comes, and what it cost in one line or as JSON."""

import sys
from collections.abc import Iterator
from typing import Any, TextIO

from mlx_engine.errors import UserError
from mlx_engine.events import Commit, CompletedReply, Event, Failed, Finished, Stats, StopReason
from mlx_engine.terminal import controls

_DIM, _NORMAL = "\033[2m", "\033[0m"

WHY_STOPPED: dict[StopReason, str] = {
    "length": "stopped at the token limit",
    "cancelled": "stopped by you",
    "stop_string": "stopped at a stop text",
    "error": "stopped by an error",
}


class Transcript:
    """Writes a reply's text as it comes and keeps it. On a terminal thinking is dimmed; elsewhere only the answer is written.

    Args:
        out: where the text goes, or None to keep it only.
    """

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self._terminal = out is not None and out.isatty()
        self._channel = "answer"
        self._written = False
        self._text = {"answer": "", "thinking": ""}
        self._tokens: list[int] = []

    def add(self, commit: Commit) -> None:
        """Write and keep one commit."""
        self._tokens.extend(commit.tokens)
        self._text[commit.channel] += commit.text
        if self._out is None or not commit.text or not (self._terminal or commit.channel == "answer"):
            return
        if self._terminal and commit.channel != self._channel:
            between = "\n\n" if self._written else ""
            self._out.write((_DIM if commit.channel == "thinking" else _NORMAL) + between)
            self._channel = commit.channel
        self._out.write(controls.visible(commit.text) if self._terminal else commit.text)
        self._out.flush()
        self._written = True

    def end(self, finished: Finished) -> CompletedReply:
        """The whole reply; the line it stands on is closed."""
        self.close()
        return CompletedReply(self._text["answer"], self._text["thinking"], tuple(self._tokens), finished.reason, finished.stats)

    def close(self) -> None:
        """Close the line that the text stands on."""
        if self._out is None:
            return
        if self._channel == "thinking":
            self._out.write(_NORMAL)
        if self._written:
            self._out.write("\n")
        self._out.flush()


def show(events: Iterator[Event], out: TextIO | None) -> CompletedReply:
    """Write one reply's events to `out` as they come, and return the reply.

    Raises:
        UserError: the engine could not answer.
    """
    transcript = Transcript(out)
    try:
        for event in events:
            if isinstance(event, Commit):
                transcript.add(event)
            elif isinstance(event, Failed):
                transcript.close()
                raise UserError.of(event)
            elif isinstance(event, Finished):
                return transcript.end(event)
    except KeyboardInterrupt:
        transcript.close()
        raise
    raise AssertionError("an engine ends every reply with Finished or Failed")


def report(reply: CompletedReply, sampled: bool) -> None:
    """What a reply cost, on one line of standard error. The seed is worth knowing only when choices were random."""
    print(stats_line(reply.stats, reply.reason, sampled), file=sys.stderr)


def stats_line(stats: Stats, reason: StopReason, sampled: bool = False) -> str:
    """Such as “DFlash · 418 tok/s · 8.9 tokens a round · 78 % accepted · first token after 0.08 s · 120 tokens”."""
    parts = ["DFlash" if stats.mode == "dflash" else "plain"]
    if stats.decode_tok_s is not None:
        parts.append(f"{stats.decode_tok_s:.0f} tok/s")
    if stats.tokens_per_round is not None:
        parts.append(f"{stats.tokens_per_round:.1f} tokens a round")
    if stats.acceptance is not None:
        parts.append(f"{stats.acceptance:.0%} accepted".replace("%", " %"))
    if stats.mostly_plain:
        parts.append(f"mostly plain, since {stats.mostly_plain}")
    if stats.ttft_s is not None:
        parts.append(f"first token after {stats.ttft_s:.2f} s")
    parts.append(f"{stats.tokens} token{'' if stats.tokens == 1 else 's'}")
    if sampled:
        parts.append(f"seed {stats.seed}")
    if reason in WHY_STOPPED:
        parts.append(WHY_STOPPED[reason])
    return " · ".join(parts)


def as_json(reply: CompletedReply) -> dict[str, Any]:
    """The object that `--json` prints for a reply. Its shape is a promise: others check the engine by it."""
    stats = reply.stats
    thinking = {"thinking": reply.thinking} if reply.thinking else {}
    return {
        "text": reply.text,
        **thinking,
        "tokens": list(reply.tokens),
        "reason": reply.reason,
        "stats": {
            "mode": stats.mode,
            "prompt_tokens": stats.prompt_tokens,
            "ttft_s": stats.ttft_s,
            "decode_tok_s": stats.decode_tok_s,
            "tokens": stats.tokens,
            "rounds": stats.rounds,
            "tested": stats.tested,
            "accepted": stats.accepted,
            "tokens_per_round": stats.tokens_per_round,
            "accepted_per_round": list(stats.accepted_per_round),
            "plain_steps": stats.plain_steps,
            "plain_because": {str(why): steps for why, steps in stats.plain_because},
            "widths": list(stats.widths),
            "lookup_rounds": stats.lookup_rounds,
            "trials": stats.trials,
            "peak_memory_bytes": stats.peak_memory_bytes,
            "seed": stats.seed,
        },
    }
