"""Texts for a reply's statistics. Unknown values are left out."""

import sqlite3
from collections.abc import Sequence

from app.storage.attachments import Unread, shortened
from app.storage.reply import Reply
from app.text.language import number, sentences, tr, translated
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Stats
from mlx_engine.contract.files import why_failed
from mlx_engine.contract.requests import Mode

COUNT_UP_TO = 20_000  # characters; longer thoughts have an estimated number of words
_NOTED_WAIT_S = 0.05
_MOST_NAMES, _MOST_PAGES = 3, 5  # of unread files that are listed


def mode_names() -> dict[Mode, str]:
    return {"dflash": "DFlash", "plain": tr("Plain")}


def tokens(count: int) -> str:
    """Format a number of tokens: "1 token" or "1,234 tokens"."""
    return tr("1 token") if count == 1 else tr("{count} tokens", count=number(count))


def about_tokens(count: int, exact: bool) -> str:
    """Format a number of tokens, rounded to two digits if it is an estimate."""
    return tokens(count) if exact else tr("about {tokens}", tokens=tokens(round(count, 2 - len(str(count)))))


def chats(count: int) -> str:
    """Format a number of chats: "1 chat" or "12 chats"."""
    return tr("1 chat") if count == 1 else tr("{count} chats", count=number(count))


def tool_server(name: str) -> str:
    """Return the name to show for a tool server, translated for a built-in one."""
    return {"Calculator": tr("Calculator"), "Files": tr("Files"), "Documents": tr("Documents")}.get(name, name)


def disk_fault(error: BaseException) -> str:
    """Return why the disk refuses to work, in the middle of a sentence."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return tr("the disk is full")
        case sqlite3.SQLITE_READONLY:
            return tr("the file or its folder is read-only")
        case sqlite3.SQLITE_BUSY:
            return tr("another program is using the file")
        case sqlite3.SQLITE_CANTOPEN:
            return tr("the file can't be opened")
        case sqlite3.SQLITE_IOERR:
            return tr("the disk reports an error")
    why = why_failed(error) if isinstance(error, OSError) else str(error)
    return translated(why) if isinstance(why, EngineText) else why


def plain_rate(tok_s: float) -> str:
    """Format a decode speed without its unit, with one decimal if it is low."""
    return number(rounded_rate(tok_s), _rate_digits(tok_s))


def rounded_rate(tok_s: float) -> float:
    """Return a decode speed as shown. Shown ratios are computed from it."""
    return round(tok_s, _rate_digits(tok_s))


def _rate_digits(tok_s: float) -> int:
    return 0 if tok_s >= 20 else 1


def rate(tok_s: float) -> str:
    return tr("{rate} tok/s", rate=plain_rate(tok_s))


def rate_range(low: float, high: float) -> str:
    """Format a range of decode speeds: "34–41 tok/s", or "34 tok/s" if equal."""
    ends = dict.fromkeys((plain_rate(low), plain_rate(high)))
    return tr("{rate} tok/s", rate="–".join(ends))


def percent(share: float) -> str:
    """Format a share from 0 to 1: "83%"."""
    return tr("{count}%", count=number(100 * share))


def duration(seconds: float) -> str:
    """Format a short time: "38 ms", "1.24 s", or "75 s"."""
    if seconds < 1:
        return f"{number(seconds * 1000)} ms"
    return f"{number(seconds, 2)} s" if seconds < 10 else f"{number(seconds)} s"


def size(count: float) -> str:
    """Format a number of bytes in decimal units, as on macOS."""
    if count >= 1e9:
        return f"{number(count / 1e9, 1)} GB"
    if count >= 1e6:
        return f"{count / 1e6:.0f} MB"
    if count >= 1e3 or not count:
        return f"{count / 1e3:.0f} KB"
    return tr("1 byte") if count <= 1 else tr("{count} bytes", count=number(count))


def chip(reply: Reply, short: bool = False) -> str:
    """Describe how a reply was decoded: "DFlash · 10.2 tokens/round".

    The text for an imported reply names its model. Unless `short`, the text for a plain reply includes the reason.
    """
    if reply.origin:
        return reply.origin
    if reply.reason == "unanswered":
        return tr("Not answered")
    stats = reply.stats if not reply.running else None
    if reply.mode == "plain" or (stats is not None and stats.mode == "plain"):
        why = stats.why_plain if stats is not None and not short else None
        if why is None:
            return tr("Plain")
        named = {"dflash_off": tr("DFlash off"), "no_drafter": tr("No drafter")}
        return f"{tr('Plain')} · {named.get(why.code) or without_dflash(why)}"
    if stats is not None and stats.mostly_plain:
        return tr("Mostly plain")
    parts = [drafting(reply)]
    if reply.tokens_per_round is not None:
        parts.append(tr("{count} tokens/round", count=number(reply.tokens_per_round, 1)))
    if reply.acceptance is not None:
        parts.append(tr("{share} accepted", share=percent(reply.acceptance)))
    return " · ".join(parts)


def without_dflash(why: EngineText) -> str:
    """Return a sentence that says why a model is used without DFlash."""
    if why.code == "no_drafter":
        return tr("This model is loaded without a drafter.")
    return translated(why) if why.code == "family_without_dflash" else tr("DFlash isn't available: {why}", why=translated(why))


def pill(reply: Reply) -> str:
    """Return a reply's speed: "512 tok/s" with drafts, "Plain · 131 tok/s" without."""
    if reply.origin or reply.reason == "unanswered":
        return chip(reply)
    stats = reply.stats if not reply.running else None
    plain = reply.mode == "plain" or (stats is not None and stats.mode == "plain")
    speed = ""
    if stats is not None and stats.decode_tok_s is not None:
        speed = rate(stats.decode_tok_s)
    elif reply.running and reply.rate.tok_s is not None:
        speed = "~" + rate(reply.rate.tok_s)
    name = tr("Plain") if plain else "" if speed else drafting(reply)
    return " · ".join(filter(None, (name, speed)))


def reading(reply: Reply) -> str:
    """Return how much of a long prompt a running reply has read."""
    if reply.running and not reply.tokens and reply.prefill and reply.prefill.total > 256:
        done, total = number(reply.prefill.done), number(reply.prefill.total)
        return tr("reading prompt: {done} of {total} tokens", done=done, total=total)
    return ""


def speed(reply: Reply) -> tuple[str, str]:
    """Return how a reply was decoded, and all of its facts."""
    return chip(reply), facts(reply)


def drafting(reply: Reply) -> str:
    """Return the kind of the drafter in use, or "DFlash" if it is unknown."""
    return (reply.stats.drafter_kind if reply.stats else reply.drafter_kind) or mode_names()["dflash"]


def facts(reply: Reply, short: bool = False) -> str:
    """Return a reply's speed, length, and ending; `short` leaves out some of them."""
    parts: list[str] = []
    if reply.stats and not reply.running:
        stats = reply.stats
        if stats.decode_tok_s is not None:
            here = tr("{rate} (measured here)", rate=rate(stats.decode_tok_s))
            parts.append(here if stats.measured_by == "client" and not short else rate(stats.decode_tok_s))
        if stats.ttft_s is not None and not short:
            parts.append(tr("first token after {ttft_s}", ttft_s=duration(stats.ttft_s)))
        count = reply_tokens(reply)
        parts += [tokens(count)] if count or stats.measured_by == "engine" else []
        if stats.mostly_plain and not short:
            steps = number(stats.plain_steps)
            parts.append(tr("{steps} plain steps: {why}", steps=steps, why=translated(stats.mostly_plain)))
    elif reply.reason == "interrupted" and reply.tokens:
        parts.append(tokens(reply.tokens))
    elif reply.running:
        if reply.rate.tok_s is not None:
            parts.append("~" + rate(reply.rate.tok_s))
        if reply.tokens:
            parts.append(tokens(reply.tokens))
        elif progress := reading(reply):
            parts.append(progress)
    if end := ending(reply):
        parts.append(end)
    return " · ".join(parts)


def thoughts(thinking: str, seconds: float | None, done: bool) -> str:
    """Return the line above thinking: "Thought for 4.1 s · 812 words"."""
    if not done:
        parts = [tr("Thinking…")] + ([f"{seconds:.0f} s"] if seconds is not None and seconds >= 1 else [])
    else:
        parts = [tr("Thoughts") if seconds is None else tr("Thought for {seconds}", seconds=duration(seconds))]
    count = len(thinking.split()) if len(thinking) < COUNT_UP_TO else len(thinking) // 6
    parts.append(tr("1 word") if count == 1 else tr("{count} words", count=number(count)))
    return " · ".join(parts)


def ending(reply: Reply) -> str:
    """Return why a reply ended, or an empty string if it was complete."""
    match reply.reason:
        case "cancelled":
            return tr("stopped")
        case "length" if reply.context_full:
            return tr("context full")
        case "length":
            return tr("reached the limit of {max_tokens} tokens", max_tokens=number(reply.max_tokens))
        case "tool_calls":
            return tr("ended with a tool call")
        case "stop_string":
            return tr("reached a stop sequence")
        case "error":
            return tr("ended with an error")
        case "interrupted":
            return tr("interrupted: Slipstream quit before the reply was complete")
    return ""


def reply_facts(reply: Reply) -> dict[str, str]:
    """Return how a reply was decoded, its speed, its length, and its ending, by name."""
    stats = reply.stats
    found = {tr("Mode"): chip(reply)}
    if stats is not None and stats.decode_tok_s is not None:
        here = tr("{rate} (measured here)", rate=rate(stats.decode_tok_s))
        found[tr("Speed")] = here if stats.measured_by == "client" else rate(stats.decode_tok_s)
    if stats is not None and stats.ttft_s is not None:
        found[tr("First token")] = tr("after {seconds}", seconds=duration(stats.ttft_s))
    if count := reply_tokens(reply):
        found[tr("Length")] = tokens(count)
    if end := ending(reply):
        found[tr("End")] = end
    return found


def reply_tokens(reply: Reply) -> int:
    """Return the number of a reply's tokens."""
    stats = reply.stats
    if stats is None or reply.running:
        return reply.tokens
    cut_off = reply.reason in ("interrupted", "error")  # the last part has no statistics but its token count
    return max(stats.tokens, reply.tokens) if cut_off else stats.tokens


def steps(stats: Sequence[Stats]) -> dict[str, str]:
    """Return the facts of each step, such as "24 tokens · 512 tok/s", by name."""
    found = {}
    for at, step in enumerate(stats):
        parts = [tokens(step.tokens), *([rate(step.decode_tok_s)] if step.decode_tok_s is not None else [])]
        if step.reused_tokens or step.measured_by == "engine":
            reused, total = number(step.reused_tokens), number(step.prompt_tokens)
            parts.append(tr("{reused} of {total} prompt tokens reused", reused=reused, total=total))
        found[tr("Step {number}", number=at + 1)] = " · ".join(parts)
    return found


def details(stats: Stats) -> str:
    """Return all statistics, one per line, for a tooltip."""
    return "\n".join(tr("{name}: {value}", name=name, value=value) for name, value in detail_facts(stats).items())


def detail_facts(stats: Stats, with_prompt: bool = True) -> dict[str, str]:
    """Return statistics by name. A server may not report them; they are zero then.

    Args:
        with_prompt: whether to include the prompt's tokens and speed, which a chart may show.
    """
    return _on_prompt(stats, with_prompt) | _on_drafts(stats) | _on_run(stats)


def _on_prompt(stats: Stats, with_tokens: bool) -> dict[str, str]:
    prompt, reused = number(stats.prompt_tokens), number(stats.reused_tokens)
    found = {}
    if stats.disk_tokens:
        found[tr("Prompt")] = tr("{reused} of {total} tokens from the disk cache", reused=reused, total=prompt)
    elif with_tokens and (stats.reused_tokens or stats.measured_by == "engine"):
        found[tr("Prompt")] = tr("{prompt_tokens} tokens, {reused_tokens} reused", prompt_tokens=prompt, reused_tokens=reused)
    elif with_tokens and stats.prompt_tokens:
        found[tr("Prompt")] = tokens(stats.prompt_tokens)
    if with_tokens and stats.prompt_tok_s is not None:
        found[tr("Prompt processing")] = rate(stats.prompt_tok_s)
    if stats.images:
        image_facts = {"tokens": tokens(stats.image_tokens), "seconds": duration(stats.image_s)}
        found[tr("Images")] = tr("{count}, {tokens}, read in {seconds}", count=number(stats.images), **image_facts)
    if stats.waiting_s >= _NOTED_WAIT_S:
        found[tr("Wait time")] = duration(stats.waiting_s)
    return found


def _on_drafts(stats: Stats) -> dict[str, str]:
    found = {}
    if stats.drafter:
        unnamed = stats.drafter == "drafter"  # the folder of a pair such as the demo pair
        name = stats.drafter_kind if unnamed else f"{stats.drafter_kind}, {stats.drafter}"
        found[tr("Drafter")] = tr("{name}, tuned", name=name) if stats.tuned else name
    if stats.rounds:
        found[tr("Rounds")] = number(stats.rounds)
    if stats.acceptance is not None:
        found[tr("Drafted")] = tokens(stats.drafted)
        counts = {"accepted": number(stats.accepted), "share": percent(stats.acceptance)}
        found[tr("Accepted")] = tr("{accepted} ({share})", **counts)
        if unused := accepted_past_end(stats):
            text = tr("{accepted} ({share}), {unused} of them past the end of the reply", **counts, unused=number(unused))
            found[tr("Accepted")] = text
    if stats.few_accepted:
        found[tr("Note")] = tr("Almost no drafts were accepted, probably because {cause}", cause=translated(stats.few_accepted))
    if stats.gpu_error:
        found[tr("GPU error")] = translated(stats.gpu_error)
    plain = [
        number(steps) + (f" ({translated(why)})" if why else "")
        for why, steps in stats.plain_because or ((None, stats.plain_steps),)
        if steps
    ]
    if plain:
        found[tr("Plain steps")] = "\n".join(plain)
    if stats.lookup_tested:
        copied = {"accepted": number(stats.lookup_accepted), "tested": number(stats.lookup_tested)}
        found[tr("Copied from earlier text")] = tr("{accepted} of {tested} accepted", **copied)
    if stats.widths and stats.measured_by == "engine":
        found[tr("Checked per round")] = tr("{count} tokens", count=", ".join(map(str, sorted(set(stats.widths)))))
    return found


def accepted_past_end(stats: Stats) -> int:
    """Return the accepted tokens after the reply's last one. Servers don't tell."""
    if stats.measured_by != "engine" or not stats.accepted_per_round:
        return 0
    in_rounds = stats.tokens - 1 - stats.plain_steps
    cut = stats.accepted + stats.rounds - in_rounds - 1  # the last token of a round is the target's own
    return min(max(cut, 0), stats.accepted_per_round[-1])


def _on_run(stats: Stats) -> dict[str, str]:
    found = {}
    if stats.peak_memory_bytes:
        found[tr("Peak memory")] = size(stats.peak_memory_bytes)
    found[tr("Seed")] = str(stats.seed)
    if stats.measured_by == "client":
        found[tr("Measured")] = tr("The server doesn't report its speed, so Slipstream measured how fast text arrived.")
    elif stats.measured_by != "engine":
        found[tr("Measured")] = tr("by the server")
    if stats.exact:
        found[tr("Exact mode")] = tr("same text with or without DFlash")
    return found


def not_read(found: Sequence[Unread], can_see: bool, why: str) -> str:
    """Return what a model doesn't read, and why.

    Args:
        found: at least one file.
        can_see: whether the model sees images.
        why: why it doesn't see them here, or "".
    """
    names = [_unread_name(one) for one in found]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES - 1 :] = [tr("{count} more", count=number(len(names) - _MOST_NAMES + 1))]
    text = tr("Not read: {names}.", names=", ".join(names))
    return text if can_see else sentences(text, why or tr("This model can't see images."))


def _unread_name(one: Unread) -> str:
    name = tr("“{quoted}”", quoted=shortened(one.name)) if one.name else tr("an image from a tool")
    if one.lost:
        return tr("{name} (lost)", name=name)
    if not one.pages:
        return name
    pages = ", ".join(map(number, one.pages[:_MOST_PAGES])) + ("…" if len(one.pages) > _MOST_PAGES else "")
    if len(one.pages) == 1:
        return tr("{name} (page {page})", name=name, page=pages)
    return tr("{name} (pages {pages})", name=name, pages=pages)
