"""Texts about the size, fit, and state of a pair."""

from app.conversations.wording import percent, size
from app.language import tr, translated
from app.models.candidate import Candidate, PairState
from app.models.downloads import PairDownload
from mlx_engine.pairs.fit import FitVerdict


def verdict(one: Candidate) -> str:
    if one.why_not:
        return tr("Not supported yet")
    names: dict[FitVerdict, str] = {
        "comfortable": tr("Fits comfortably"),
        "tight": tr("Tight fit"),
        "will swap": tr("Too large: would swap"),
        "no": tr("Doesn’t fit"),
        "unknown": tr("Unknown fit"),
    }
    return names[one.verdict]


def summary(one: Candidate) -> str:
    """Return the second line of a row: size and fit."""
    if one.why_not:
        return verdict(one)
    weights = tr("Unknown size")
    if one.shown.size:
        weights = tr("about {size}", size=size(one.shown.size)) if one.shown.estimated else size(one.shown.size)
    return f"{weights} · {verdict(one)}"


def status(state: PairState, download: PairDownload | None) -> str:
    """Return the text at the end of a row; empty for a pair that can be downloaded."""
    if state == "running" and download is not None and download.total:
        return percent(download.fraction)
    names: dict[PairState, str] = {
        "waiting": tr("Waiting"),
        "running": tr("Downloading"),
        "paused": tr("Paused"),
        "failed": tr("Stopped"),
        "ready": tr("On disk"),
        "loading": tr("Loading"),
        "loaded": tr("In use"),
    }
    return names.get(state, "")


def progress(download: PairDownload) -> str:
    """Return how far a download is: bytes, speed, time left, and state."""
    parts = []
    if download.total:
        parts.append(tr("{done} of {total}", done=size(download.done), total=size(download.total)))
    if download.state == "running":
        if download.speed:
            parts.append(f"{size(download.speed)}/s")
        if download.seconds_left is not None and download.total and download.done < download.total:
            parts.append(tr("{time} left", time=duration(download.seconds_left)))
        if not parts:
            parts.append(tr("Connecting…"))
    elif download.state == "failed":
        return tr("Stopped. Partial download kept.")
    else:
        parts.append(tr("Paused. Partial download kept.") if download.state == "paused" else tr("Waiting"))
    if download.note:
        parts.append(translated(download.note))
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Format a duration in its largest units, such as "1 h 2 min"."""
    if seconds < 59.5:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
