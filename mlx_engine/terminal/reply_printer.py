"""A reply on the terminal: its text as it arrives, and its statistics as one line or as JSON."""

from collections.abc import Iterator
from typing import Any, TextIO

from mlx_engine.errors import UserError
from mlx_engine.events import Commit, CompletedReply, Event, Finished, Stats, StopReason
from mlx_engine.terminal.console import note, visible

_DIM, _NORMAL = "\033[2m", "\033[0m"

STOPPED: dict[StopReason, str] = {
    "length": "stopped at the token limit",
    "cancelled": "stopped",
    "stop_string": "ended at a stop sequence",
    "error": "ended with an error",
}


class PrintedReply:
    """Prints a reply's text as it arrives and collects it. Thinking is dimmed on a terminal, and left out elsewhere.

    Args:
        out: where the text goes, or None to only collect it.
    """

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self._is_terminal = out is not None and out.isatty()
        self._channel = "answer"
        self._printed = False
        self._text = {"answer": "", "thinking": ""}
        self._tokens: list[int] = []

    def add(self, commit: Commit) -> None:
        self._tokens.extend(commit.tokens)
        self._text[commit.channel] += commit.text
        if self._out is None or not commit.text or not (self._is_terminal or commit.channel == "answer"):
            return
        if self._is_terminal and commit.channel != self._channel:
            between = "\n\n" if self._printed else ""
            self._out.write((_DIM if commit.channel == "thinking" else _NORMAL) + between)
            self._channel = commit.channel
        self._out.write(visible(commit.text) if self._is_terminal else commit.text)
        self._out.flush()
        self._printed = True

    def end(self, finished: Finished) -> CompletedReply:
        """End the line and return the whole reply."""
        self.close()
        return CompletedReply(self._text["answer"], self._text["thinking"], tuple(self._tokens), finished.reason, finished.stats)

    def close(self) -> None:
        """End the line."""
        if self._out is None:
            return
        if self._channel == "thinking":
            self._out.write(_NORMAL)
        if self._printed:
            self._out.write("\n")
        self._out.flush()


def show(events: Iterator[Event], out: TextIO | None) -> CompletedReply:
    """Print a reply to `out` as it arrives, and return it.

    Raises:
        UserError: the request failed.
    """
    printed = PrintedReply(out)
    try:
        for event in events:
            if isinstance(event, Commit):
                printed.add(event)
            elif isinstance(event, Finished):
                return printed.end(event)
    except (KeyboardInterrupt, UserError):
        printed.close()
        raise
    raise AssertionError("a reply ends with Finished or Failed")


def report(reply: CompletedReply, sampled: bool) -> None:
    """Print a reply's statistics on standard error."""
    note(stats_line(reply.stats, reply.reason, sampled))


def stats_line(stats: Stats, reason: StopReason, sampled: bool = False) -> str:
    """Such as "DFlash · 418 tok/s · 8.9 tokens/round · 78% accepted · first token after 0.08 s · 120 tokens".

    The seed is added only if the reply was sampled.
    """
    parts = [("DFlash" if stats.mode == "dflash" else "plain") + (", exact" if stats.exact else "")]
    if stats.decode_tok_s is not None:
        parts.append(f"{stats.decode_tok_s:.0f} tok/s")
    if stats.tokens_per_round is not None:
        parts.append(f"{stats.tokens_per_round:.1f} tokens/round")
    if stats.acceptance is not None:
        parts.append(f"{stats.acceptance:.0%} accepted")
    if stats.mostly_plain:
        parts.append(f"mostly plain: {stats.mostly_plain}")
    if stats.ttft_s is not None:
        parts.append(f"first token after {stats.ttft_s:.2f} s")
    parts.append(f"{stats.tokens} token{'' if stats.tokens == 1 else 's'}")
    if sampled:
        parts.append(f"seed {stats.seed}")
    if reason in STOPPED:
        parts.append(STOPPED[reason])
    return " · ".join(parts)


_JSON_STATS = (
    *("mode", "prompt_tokens", "ttft_s", "decode_tok_s", "tokens", "rounds", "tested", "accepted", "tokens_per_round"),
    *("accepted_per_round", "plain_steps", "widths", "lookup_rounds", "trials", "peak_memory_bytes", "seed", "exact"),
)


def as_json(reply: CompletedReply) -> dict[str, Any]:
    """Return the object that `--json` prints for a reply. Scripts depend on its shape."""
    stats = {name: getattr(reply.stats, name) for name in _JSON_STATS}
    because = {str(why): steps for why, steps in reply.stats.plain_because}
    return {
        "text": reply.text,
        **({"thinking": reply.thinking} if reply.thinking else {}),
        "tokens": list(reply.tokens),
        "reason": reply.reason,
        "stats": stats | {"plain_because": because},
    }
