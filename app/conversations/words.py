"""A reply's figures in words. A figure that is not known is left out; an estimate carries a tilde."""

from app.conversations.reply import Reply
from mlx_engine.events import Stats

COUNT_UP_TO = 20_000  # characters; of longer thoughts the words are estimated
MODE_NAMES = {"dflash": "DFlash", "plain": "Plain"}


def number(value: float, digits: int = 0) -> str:
    """12345.6 as 12,346."""
    return f"{value:,.{digits}f}"


def plain_rate(tok_s: float) -> str:
    """A decode rate without its unit; one decimal where it is slow enough to matter."""
    return number(tok_s, 0 if tok_s >= 20 else 1)


def rate(tok_s: float) -> str:
    """A decode rate in tokens a second."""
    return f"{plain_rate(tok_s)} tok/s"


def duration(seconds: float) -> str:
    """A short time: 38 ms, 1.24 s, 75 s."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def size(count: float) -> str:
    """Bytes in the decimal units that macOS shows."""
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{max(count / 1e3, 1):.0f} KB" if count else "0 KB"


def chip(reply: Reply, short: bool = False) -> str:
    """How it was decoded: "DFlash · 10.2 tokens/round · 93 %", or "Plain" and why; of an imported reply, who wrote it. A
    `short` one leaves out why it was plain."""
    if reply.origin:
        return reply.origin
    if reply.reason == "unanswered":
        return "Not answered"
    if reply.mode == "plain":
        return "Plain" if short else "Plain · drafter off"
    if reply.stats and not reply.running:
        if reply.stats.mode == "plain":
            return "Plain" if short else f"Plain · not available: {reply.stats.why_plain or 'no drafter is loaded'}"
        if reply.stats.mostly_plain:
            return "Mostly plain" if short else "Plain · hopeless here"
    parts = [MODE_NAMES[reply.mode]]
    if reply.tokens_per_round is not None:
        parts.append(f"{number(reply.tokens_per_round, 1)} tokens/round")
    if reply.acceptance is not None:
        parts.append(f"{100 * reply.acceptance:.0f} %")
    return " · ".join(parts)


def facts(reply: Reply, short: bool = False) -> str:
    """How fast it was and why it ended, beside the chip. `short` leaves out what a table beside it tells."""
    parts: list[str] = []
    if reply.stats and not reply.running:
        stats = reply.stats
        if stats.decode_tok_s is not None:
            parts.append(rate(stats.decode_tok_s))
        if stats.ttft_s is not None and not short:
            parts.append(f"first token {duration(stats.ttft_s)}")
        parts.append(f"{number(stats.tokens)} token{'' if stats.tokens == 1 else 's'}")
        if stats.mostly_plain and not short:
            parts.append(f"{number(stats.plain_steps)} of them plainly, since {stats.mostly_plain}")
    elif reply.reason == "interrupted" and reply.tokens:
        parts.append(f"{number(reply.tokens)} token{'' if reply.tokens == 1 else 's'}")
    elif reply.running:
        if reply.rate.tok_s is not None:
            parts.append("~" + rate(reply.rate.tok_s))
        if reply.tokens:
            parts.append(f"{number(reply.tokens)} token{'' if reply.tokens == 1 else 's'}")
        elif reply.prefill and reply.prefill.total > 256:
            parts.append(f"reading the prompt, {number(reply.prefill.done)} of {number(reply.prefill.total)} tokens")
    if ending := stop_words(reply):
        parts.append(ending)
    return " · ".join(parts)


def thoughts(reply: Reply, over: bool) -> str:
    """The line above what was thought: "Thought for 4.1 s · 812 words"."""
    seconds = reply.thinking_s
    parts = ["Thinking…" if not over else "Thoughts" if seconds is None else f"Thought for {duration(seconds)}"]
    if not over and seconds is not None and seconds >= 1:
        parts.append(f"{seconds:.0f} s")
    count = len(reply.thinking.split()) if len(reply.thinking) < COUNT_UP_TO else len(reply.thinking) // 6
    parts.append(f"{number(count)} word{'' if count == 1 else 's'}")
    return " · ".join(parts)


def stop_words(reply: Reply) -> str:
    """Why it stopped, unless it simply came to its end."""
    match reply.reason:
        case "cancelled":
            return "stopped by you"
        case "length" if reply.stats and reply.stats.tokens < reply.max_tokens:
            return "the context is full"
        case "length":
            return f"reached the limit of {number(reply.max_tokens)} tokens"
        case "stop_string":
            return "ended at a stop word"
        case "error":
            return "ended by an error"
        case "interrupted":
            return "interrupted: Slipstream ended before this reply did"
    return ""


def details(stats: Stats) -> str:
    """Everything measured, one line each: for the tooltip."""
    lines = [f"Prompt: {number(stats.prompt_tokens)} tokens, {number(stats.reused_tokens)} of them reused"]
    if stats.prompt_tok_s is not None:
        lines.append(f"Prompt rate: {rate(stats.prompt_tok_s)}")
    if stats.rounds:
        lines.append(f"Rounds: {number(stats.rounds)}")
        lines.append(f"Drafted {number(stats.drafted)}, tested {number(stats.tested)}, accepted {number(stats.accepted)} tokens")
    for why, steps in stats.plain_because or ((("", stats.plain_steps),) if stats.plain_steps else ()):
        lines.append(f"Plain steps: {number(steps)}" + (f", since {why}" if why else ""))
    if stats.lookup_rounds:
        lines.append(f"Rounds that tested copies of earlier text: {number(stats.lookup_rounds)}")
    if stats.widths:
        lines.append("Widths used: " + ", ".join(str(width) for width in sorted(set(stats.widths))))
    if stats.peak_memory_bytes:
        lines.append(f"Peak memory: {size(stats.peak_memory_bytes)}")
    lines.append(f"Seed: {stats.seed}")
    return "\n".join(lines)
