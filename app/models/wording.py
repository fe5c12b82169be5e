"""What the picker says of a pair."""

from app.conversations.wording import size
from app.language import tr, translated
from app.models.candidate import Candidate, State
from app.models.downloads import Transfer
from mlx_engine.pairs.fit import FitVerdict


def verdict_names() -> dict[FitVerdict, str]:
    """How a pair fits, in words."""
    return {
        "comfortable": tr("Fits comfortably"),
        "tight": tr("Fits, tightly"),
        "will swap": tr("Too large: would swap"),
        "no": tr("Does not fit"),
        "unknown": tr("Fit unknown"),
    }


def _state_names() -> dict[State, str]:
    return {
        "waiting": tr("Waiting"),
        "paused": tr("Paused"),
        "failed": tr("Stopped"),
        "ready": tr("On disk"),
        "loading": tr("Loading"),
        "loaded": tr("In use"),
    }


def status(state: State, transfer: Transfer | None) -> str:
    """A word for the end of a row; empty for a pair that is just there to be had."""
    if state == "running" and transfer is not None and transfer.total:
        return f"{transfer.done / transfer.total:.0%}".replace("%", " %")
    return tr("Fetching") if state == "running" else _state_names().get(state, "")


def row(one: Candidate) -> str:
    """The second line of a row."""
    if one.why_not:
        return tr("Cannot be run yet")
    shown = one.shown
    weight = tr("Size unknown")
    if shown.size:
        weight = tr("about {size}", size=size(shown.size)) if shown.estimated else size(shown.size)
    return f"{weight} · {verdict_names()[one.verdict]}"


def progress(transfer: Transfer) -> str:
    """How far a download is: bytes, speed, time left, and what else there is to say."""
    parts = []
    if transfer.total:
        parts.append(tr("{done} of {total}", done=size(transfer.done), total=size(transfer.total)))
    if transfer.state == "running":
        if transfer.speed:
            parts.append(f"{size(transfer.speed)}/s")
        if transfer.seconds_left is not None and transfer.total and transfer.done < transfer.total:
            parts.append(tr("{time} left", time=duration(transfer.seconds_left)))
        if not parts:
            parts.append(tr("Asking the hub…"))
    elif transfer.state == "waiting":
        parts.append(tr("waits for its turn") if parts else tr("Waits for its turn"))
    elif transfer.state == "paused":
        parts.append(tr("paused; what came is kept") if parts else tr("Paused; what came is kept"))
    if transfer.words:
        parts.append(translated(transfer.words))
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """In the largest units that say something."""
    whole = round(seconds)
    if whole < 60:
        return f"{max(whole, 1)} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
