"""`slipstream generate`: print one reply. Other commands use these functions too."""

import argparse
from collections.abc import Iterator
from typing import Any

from mlx_engine.cli import arguments
from mlx_engine.cli.console import at_terminal, note, print_json, write
from mlx_engine.cli.session import cancellable, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, CompletedReply, Event, Finished, Stats, StopReason
from mlx_engine.contract.requests import Mode
from mlx_engine.contract.whole_replies import fold

STOPPED: dict[StopReason, str] = {
    "length": "stopped at the token limit",
    "cancelled": "stopped",
    "stop_string": "ended at a stop sequence",
    "error": "ended with an error",
}


def run(args: argparse.Namespace, client: EngineClient) -> int:
    mode: Mode = args.mode or ("plain" if args.target and not args.drafter else "dflash")
    request = arguments.request(args, mode)
    open_pair(client, args)
    reply = show(cancellable(client, request), printing=not args.json, raw=args.raw)
    if args.json:
        print_json(as_json(reply))
    else:
        note(stats_line(reply.stats, reply.reason, sampled=args.temperature > 0))
    return 130 if reply.reason == "cancelled" else 0


class PrintedReply:
    """A reply that is collected and, if `printing`, printed as it arrives.

    `raw` leaves control characters as they are in a pipe.
    """

    def __init__(self, printing: bool = True, raw: bool = False) -> None:
        self._printing, self._raw = printing, raw
        self._channel = ""  # of the last printed text
        self._events: list[Event] = []

    def add(self, commit: Commit) -> None:
        self._events.append(commit)
        if self._printing and commit.text and (commit.channel == "answer" or at_terminal()):
            if self._channel not in ("", commit.channel):
                write("\n\n")
            self._channel = commit.channel
            write(commit.text, dim=commit.channel == "thinking", raw=self._raw)

    def end(self, finished: Finished) -> CompletedReply:
        """End the line, and return the whole reply."""
        self.close()
        return fold([*self._events, finished])

    def close(self) -> None:
        if self._channel:
            write("\n")
        self._channel = ""


def show(events: Iterator[Event], printing: bool, raw: bool = False) -> CompletedReply:
    """Return a reply. If `printing`, print it as it arrives."""
    printed = PrintedReply(printing, raw)
    try:
        for event in events:
            if isinstance(event, Commit):
                printed.add(event)
            elif isinstance(event, Finished):
                return printed.end(event)
    except (KeyboardInterrupt, UserError):
        printed.close()
        raise
    raise UserError("reply_lost", "The reply ended before it began. Try again.")  # canceled by then


def stats_line(stats: Stats, reason: StopReason, sampled: bool = False) -> str:
    """Return a line such as "DFlash · 418 tok/s · 78% accepted · 120 tokens"."""
    mode = "plain" if stats.mode == "plain" else stats.drafter_kind or "DFlash"
    parts = [mode + (", exact" if stats.exact else "")]
    if stats.decode_tok_s is not None:
        parts.append(f"{stats.decode_tok_s:.0f} tok/s{' measured here' if stats.measured_by == 'client' else ''}")
    if stats.tokens_per_round is not None:
        parts.append(f"{stats.tokens_per_round:.1f} tokens/round")
    if stats.acceptance is not None:
        parts.append(f"{stats.acceptance:.0%} accepted")
    if stats.mostly_plain:
        parts.append(f"mostly plain: {stats.mostly_plain}")
    if stats.few_accepted:
        parts.append(f"almost no drafts accepted, probably because {stats.few_accepted}")
    if stats.gpu_error:
        parts.append(str(stats.gpu_error)[:1].lower() + str(stats.gpu_error)[1:])
    if stats.ttft_s is not None:
        parts.append(f"first token after {stats.ttft_s:.2f} s")
    if stats.images:
        parts.append(f"{stats.images} image{'' if stats.images == 1 else 's'} in {stats.image_s:.2f} s")
    parts.append(f"{stats.tokens} token{'' if stats.tokens == 1 else 's'}")
    if sampled:
        parts.append(f"seed {stats.seed}")
    if reason in STOPPED:
        parts.append(STOPPED[reason])
    return " · ".join(parts)


_JSON_STATS = (
    *("mode", "prompt_tokens", "ttft_s", "decode_tok_s", "tokens", "rounds", "drafted", "tested", "accepted", "tokens_per_round"),
    *("accepted_per_round", "plain_steps", "widths", "lookup_rounds", "lookup_tested", "lookup_accepted", "trials"),
    *("peak_memory_bytes", "seed", "exact", "measured_by", "drafter", "drafter_kind", "images", "image_tokens", "image_s"),
)


def as_json(reply: CompletedReply) -> dict[str, Any]:
    """Return the object that `--json` prints for a reply; scripts depend on its shape."""
    stats = {name: getattr(reply.stats, name) for name in _JSON_STATS}
    because = {str(why): steps for why, steps in reply.stats.plain_because}
    return {
        "text": reply.text,
        **({"thinking": reply.thinking} if reply.thinking else {}),
        "tokens": list(reply.tokens),
        "reason": reply.reason,
        "stats": stats | {"plain_because": because},
    }
