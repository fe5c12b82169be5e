"""Texts about why a reply was slow, and about what surrounded it."""

from collections.abc import Sequence

from app.storage.reply import Reply
from app.storage.slowness import SlowCause
from app.storage.speed_history import SpeedPoint
from app.storage.wording import duration, percent, rate
from app.text.language import number, sentences, tr, translated
from mlx_engine.contract.conditions import Conditions

_MOST_LINES = 5  # of a chat's history


def cause_names() -> dict[SlowCause, str]:
    """Return the text of each cause's chip."""
    return {
        "quiet": tr("Slower: quiet mode"),
        "memory": tr("Slower: low memory"),
        "heat": tr("Slower: heat"),
        "power_mode": tr("Slower: Low Power Mode"),
        "replies": tr("Slower: other replies"),
        "drafter": tr("Slower: few drafts accepted"),
        "battery": tr("Slower: on battery"),
        "prompt": tr("Slow start: new prompt"),
    }


def slow_chip(reply: Reply) -> str:
    """Return why a reply was slow, in a few words, or an empty string."""
    return cause_names()[reply.slow_cause] if reply.slow_cause is not None and not reply.running else ""


def slow_explanation(reply: Reply) -> str:
    """Return the usual speed, why a reply was slow, and what to do; or ""."""
    if reply.slow_cause is None or reply.stats is None or reply.running:
        return ""
    usual = tr("Replies usually reach {rate}.", rate=rate(reply.usual_tok_s)) if reply.usual_tok_s is not None else ""
    return sentences(usual, _reason(reply, reply.slow_cause), _advice(reply.slow_cause))


def _reason(reply: Reply, cause: SlowCause) -> str:
    stats, conditions = reply.stats, reply.conditions
    assert stats is not None
    match cause:
        case "quiet":
            worked = stats.prefill_s + stats.decode_s
            times = {"rest": duration(stats.rest_s), "time": duration(worked)}
            return tr("Quiet mode was on: this computer rested for {rest} of {time}.", **times)
        case "memory":
            return tr("Other programs needed memory during this reply.")
        case "heat":
            return tr("This computer was hot, and slowed down.")
        case "power_mode":
            return tr("Low Power Mode was on.")
        case "replies":
            if stats.has_shared_passes:
                return tr("Other replies were generated at the same time.")
            return tr("This reply waited {seconds} for others.", seconds=duration(stats.waiting_s))
        case "drafter" if stats.few_accepted is not None:
            return tr("Almost no drafts were accepted, probably because {cause}.", cause=translated(stats.few_accepted))
        case "drafter":
            return tr("The drafter predicted this text less well than usual.")
        case "battery":
            charge = conditions.charge if conditions is not None else None
            if charge is None:
                return tr("This computer ran on its battery.")
            return tr("This computer ran on its battery, at {charge}.", charge=percent(charge))
        case "prompt":
            tokens = number(stats.prompt_tokens - stats.reused_tokens)
            return tr("Reading {tokens} new prompt tokens took {seconds}.", tokens=tokens, seconds=duration(stats.prefill_s))


def _advice(cause: SlowCause) -> str:
    match cause:
        case "quiet":
            return tr("You can turn it off with Chat ▸ Quiet Mode.")
        case "memory":
            return tr("Quit other apps, or choose a smaller model.")
        case "heat":
            return tr("Let it cool, for example with Chat ▸ Quiet Mode.")
        case "power_mode":
            return tr("Turn it off in your system's settings for full speed.")
        case "replies":
            return tr("Stop other replies to have one sooner.")
        case "drafter":
            return tr("Compare all drafters of this model to find a better one.")
        case "battery":
            return tr("Connect it to power for full speed.")
        case "prompt":
            return tr("Later replies in this chat start sooner.")


def notable(conditions: Conditions | None) -> str:
    """Return the conditions that can slow a computer down, or ""."""
    if conditions is None:
        return ""
    found = []
    if conditions.is_hot:
        found.append(tr("hot"))
    if conditions.saves_power:
        found.append(tr("Low Power Mode"))
    if conditions.on_battery:
        charge = conditions.charge
        found.append(tr("on battery") if charge is None else tr("on battery ({charge})", charge=percent(charge)))
    if conditions.pressure in ("warning", "critical"):
        found.append(tr("low memory"))
    return ", ".join(found)


def slow_replies(points: Sequence[SpeedPoint]) -> str:
    """Return a line for each of the latest replies that something slowed down."""
    names = cause_names()
    lines = [
        tr("Reply {number}: {rate}. {cause}", number=point.number, rate=rate(point.tok_s), cause=names[point.cause])
        for point in points
        if point.cause is not None
    ]
    return "\n".join(lines[-_MOST_LINES:])
