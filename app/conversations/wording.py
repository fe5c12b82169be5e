"""A reply's figures in words. A figure that is not known is left out; an estimate carries a tilde."""

from app.conversations.reply import Reply
from app.language import number, tr
from mlx_engine.events import Stats
from mlx_engine.requests import Mode

COUNT_UP_TO = 20_000  # characters; of longer thoughts the words are estimated


def mode_names() -> dict[Mode, str]:
    """What both ways of decoding are called."""
    return {"dflash": "DFlash", "plain": tr("Plain")}


def tokens(count: int) -> str:
    """1 token, 1,234 tokens."""
    return tr("1 token") if count == 1 else tr("{count} tokens", count=number(count))


def plain_rate(tok_s: float) -> str:
    """A decode rate without its unit; one decimal where it is slow enough to matter."""
    return number(tok_s, 0 if tok_s >= 20 else 1)


def rate(tok_s: float) -> str:
    """A decode rate in tokens a second."""
    return f"{plain_rate(tok_s)} tok/s"


def duration(seconds: float) -> str:
    """A short time: 38 ms, 1.24 s, 75 s."""
    if seconds < 1:
        return f"{number(seconds * 1000)} ms"
    return f"{number(seconds, 2)} s" if seconds < 10 else f"{number(seconds)} s"


def size(count: float) -> str:
    """Bytes in the decimal units that macOS shows."""
    if count >= 1e9:
        return f"{number(count / 1e9, 1)} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{max(count / 1e3, 1):.0f} KB" if count else "0 KB"


def chip(reply: Reply, short: bool = False) -> str:
    """How it was decoded: "DFlash · 10.2 tokens/round · 93 %", or "Plain" and why; of an imported reply, who wrote it. A
    `short` one leaves out why it was plain."""
    if reply.origin:
        return reply.origin
    if reply.reason == "unanswered":
        return tr("Not answered")
    if reply.mode == "plain":
        return tr("Plain") if short else tr("Plain · drafter off")
    if reply.stats and not reply.running:
        if reply.stats.mode == "plain":
            return (
                tr("Plain")
                if short
                else tr("Plain · not available: {why_plain}", why_plain=reply.stats.why_plain or tr("no drafter is loaded"))
            )
        if reply.stats.mostly_plain:
            return tr("Mostly plain") if short else tr("Plain · hopeless here")
    parts = [mode_names()[reply.mode]]
    if reply.tokens_per_round is not None:
        parts.append(tr("{count} tokens/round", count=number(reply.tokens_per_round, 1)))
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
            parts.append(tr("first token {ttft_s}", ttft_s=duration(stats.ttft_s)))
        cut_off = reply.reason in ("interrupted", "error")  # the last part has no figures but its tokens
        parts.append(tokens(max(stats.tokens, reply.tokens) if cut_off else stats.tokens))
        if stats.mostly_plain and not short:
            parts.append(
                tr(
                    "{plain_steps} of them plainly, since {mostly_plain}",
                    plain_steps=number(stats.plain_steps),
                    mostly_plain=stats.mostly_plain,
                )
            )
    elif reply.reason == "interrupted" and reply.tokens:
        parts.append(tokens(reply.tokens))
    elif reply.running:
        if reply.rate.tok_s is not None:
            parts.append("~" + rate(reply.rate.tok_s))
        if reply.tokens:
            parts.append(tokens(reply.tokens))
        elif reply.prefill and reply.prefill.total > 256:
            parts.append(
                tr(
                    "reading the prompt, {done} of {total} tokens",
                    done=number(reply.prefill.done),
                    total=number(reply.prefill.total),
                )
            )
    if ending := stop_words(reply):
        parts.append(ending)
    return " · ".join(parts)


def thoughts(reply: Reply, over: bool) -> str:
    """The line above what was thought: "Thought for 4.1 s · 812 words"."""
    seconds = reply.thinking_s
    parts = [
        tr("Thinking…")
        if not over
        else tr("Thoughts")
        if seconds is None
        else tr("Thought for {seconds}", seconds=duration(seconds))
    ]
    if not over and seconds is not None and seconds >= 1:
        parts.append(f"{seconds:.0f} s")
    count = len(reply.thinking.split()) if len(reply.thinking) < COUNT_UP_TO else len(reply.thinking) // 6
    parts.append(tr("1 word") if count == 1 else tr("{count} words", count=number(count)))
    return " · ".join(parts)


def stop_words(reply: Reply) -> str:
    """Why it stopped, unless it simply came to its end."""
    match reply.reason:
        case "cancelled":
            return tr("stopped by you")
        case "length" if reply.room_ended:
            return tr("the context is full")
        case "length":
            return tr("reached the limit of {max_tokens} tokens", max_tokens=number(reply.max_tokens))
        case "stop_string":
            return tr("ended at a stop word")
        case "error":
            return tr("ended by an error")
        case "interrupted":
            return tr("interrupted: Slipstream ended before this reply did")
    return ""


def details(stats: Stats) -> str:
    """Everything measured, one line each: for the tooltip."""
    lines = [
        tr(
            "Prompt: {prompt_tokens} tokens, {reused_tokens} of them reused",
            prompt_tokens=number(stats.prompt_tokens),
            reused_tokens=number(stats.reused_tokens),
        )
    ]
    if stats.prompt_tok_s is not None:
        lines.append(tr("Prompt rate: {prompt_tok_s}", prompt_tok_s=rate(stats.prompt_tok_s)))
    if stats.rounds:
        lines.append(tr("Rounds: {rounds}", rounds=number(stats.rounds)))
        lines.append(
            tr(
                "Drafted {drafted}, tested {tested}, accepted {accepted} tokens",
                drafted=number(stats.drafted),
                tested=number(stats.tested),
                accepted=number(stats.accepted),
            )
        )
    for why, steps in stats.plain_because or ((("", stats.plain_steps),) if stats.plain_steps else ()):
        lines.append(tr("Plain steps: {steps}", steps=number(steps)) + (tr(", since {why}", why=why) if why else ""))
    if stats.lookup_rounds:
        lines.append(tr("Rounds that tested copies of earlier text: {lookup_rounds}", lookup_rounds=number(stats.lookup_rounds)))
    if stats.widths:
        lines.append(tr("Widths used: ") + ", ".join(str(width) for width in sorted(set(stats.widths))))
    if stats.peak_memory_bytes:
        lines.append(tr("Peak memory: {peak_memory_bytes}", peak_memory_bytes=size(stats.peak_memory_bytes)))
    lines.append(tr("Seed: {seed}", seed=stats.seed))
    return "\n".join(lines)
