"""The facts about a pair in words."""

import re

from app.session.model_list import Candidate, Variant
from app.session.recommendation import precision_note
from app.storage.wording import rate_range, size, tokens
from app.text.language import number, sentences, tr, translated, unbroken
from app.views.machine.this_mac import machine_title
from mlx_engine.contract.limits import WINDOWED_CONTEXT
from mlx_engine.drafters.registry import KINDS
from mlx_engine.models.fit import Fit
from mlx_engine.models.library.speeds import SpeedKind, SpeedRange

_DRAFTED: tuple[SpeedKind, ...] = ("dflash", "chat", "code")


def facts_of(one: Candidate, machine_measured: bool) -> dict[str, str]:
    """Return the names and values of a pair's facts, most important first."""
    shown, drafter = one.shown, one.shown.drafter
    downloads = {tr("Downloads"): tr("{count} in the last month", count=number(one.downloads))} if one.downloads else {}
    if one.from_hub and one.why_not and shown.pair is not None:
        return {tr("Model"): shown.pair.target, **downloads}
    facts = {
        tr("Why this pair"): _advantages(one),
        **_speeds(one, machine_measured),
        tr("Published speedups"): _reported(one),
        tr("Images"): tr("Sees images and pages of PDFs") if shown.sees else tr("Can't see images"),
        tr("Context"): _context(shown),
        tr("License"): _licenses(one),
    }
    if shown.to_download is not None and shown.folders is None:
        facts[tr("Download")] = size(shown.to_download) if shown.to_download else tr("Nothing to download")
    block = shown.config.block_size if shown.config else drafter.block_size if drafter else None
    alone = tr("Language model") if one.from_hub and not shown.kind and one.family else ""
    kinds = (alone, shown.kind, tr("block size {count}", count=block) if block else "", one.family)
    facts[tr("Kind")] = ", ".join(filter(None, kinds))
    if shown.pair is not None:
        facts[tr("Target")] = shown.pair.target
        facts[tr("Drafter")] = shown.pair.drafter or tr("None (plain decoding)")
    if shown.held is not None:
        facts[tr("Target folder")] = f"{shown.place} · {shown.held.folder}"
    elif shown.folders is not None:
        facts[tr("Location")] = str(shown.folders[0].parent if shown.folders[1] else shown.folders[0])
    return {name: text for name, text in (facts | downloads).items() if text}


def license_name(id: str) -> str:
    """Return the readable name of a license, such as “Apache 2.0” for "apache-2.0"."""
    names = {
        "apache-2.0": "Apache 2.0",
        "mit": "MIT",
        "bsd-3-clause": "BSD 3-Clause",
        "openmdw-1.1": "OpenMDW 1.1",
        "gemma": "Gemma Terms of Use",
        "glm-5.3": "GLM-5.3 License",
        "other": tr("Other"),
        "unknown": tr("Unknown"),
    }
    if llama := re.fullmatch(r"llama-?(\d(?:\.\d)?)", id):
        return f"Llama {llama[1]} Community"
    if creative_commons := re.fullmatch(r"cc-([a-z-]+)-(\d\.\d)", id):
        return f"CC {creative_commons[1].upper()} {creative_commons[2]}"
    return names.get(id, id)


def _licenses(one: Candidate) -> str:
    """Return the known licenses of the target and the drafter."""
    target, drafter = one.shown.license or (one.entry.license if one.entry else None), one.shown.drafter
    of_drafter = tr("drafter: {license}", license=license_name(drafter.license)) if drafter and drafter.license else ""
    return ", ".join(filter(None, (license_name(target) if target else "", of_drafter)))


def _context(shown: Variant) -> str:
    """Return the context length, and how much of it DFlash speeds up if less."""
    if not shown.context:
        return ""
    if shown.config is None or not shown.config.windowed or shown.context <= WINDOWED_CONTEXT:
        return tokens(shown.context)
    least = number(WINDOWED_CONTEXT)
    return tr("{context}. DFlash helps little beyond about {least}.", context=tokens(shown.context), least=least)


def _drafter_name(variant: Variant) -> str:
    """Return a drafter's kind and maker, or its folder if it isn't from the hub."""
    has_none = variant.folders[1] is None if variant.folders else variant.pair is not None and not variant.pair.drafter
    if has_none and variant.drafter is None:
        return tr("No drafter")
    kind = variant.kind or tr("Drafter")
    if variant.pair is not None and variant.pair.drafter:
        return tr("{kind} by {maker}", kind=kind, maker=variant.pair.drafter.split("/")[0])
    folder = variant.folders[1] if variant.folders else None
    return f"{kind} · {folder.name}" if folder else kind


def drafter_names(one: Candidate) -> dict[int, str]:
    """Return the names of a row's drafters, with repos where names are the same."""
    names = {index: _drafter_name(one.variants[index]) for index in one.alternatives}
    for index in [index for index, name in names.items() if [*names.values()].count(name) > 1]:
        pair = one.variants[index].pair
        if pair is not None and pair.drafter:
            names[index] += " · " + pair.drafter.split("/")[-1]
    return names


def drafter_label(name: str, variant: Variant) -> str:
    """Return a drafter's name, precision, size, and expected or reported speed."""
    drafter, parts = variant.drafter, [name]
    if drafter and drafter.bits:
        parts.append(tr("{bits}-bit", bits=drafter.bits))
    if drafter and drafter.size_gb:
        parts.append(size(round(drafter.size_gb * 1e9)))
    if speeds := [variant.speeds[kind] for kind in _DRAFTED if kind in variant.speeds]:
        parts.append(rate_range(min(speed.low for speed in speeds), max(speed.high for speed in speeds)))
    elif ratios := [ratio for reported in (drafter.reported if drafter else ()) for ratio in reported.speedup]:
        low, high = number(min(ratios), 1), number(max(ratios), 1)
        parts.append(f"{low}×" if low == high else f"{low}–{high}×")
    return " · ".join(parts)


def _advantages(one: Candidate) -> str:
    reasons = []
    if one.shown.pair is not None and one.shown.pair.target == one.recommended:
        reasons.append(tr("Recommended for this computer."))
    pays = one.fits and not one.shown.slow  # a pair that is too slow or too large has no such advantages
    if pays and one.verdict == "comfortable":
        reasons.append(tr("Leaves memory for long chats and other apps."))
    elif pays:
        reasons.append(tr("Fits, with little memory to spare."))
    if "coding" in one.tags:
        reasons.append(tr("Trained for code."))
    if (kind := KINDS.get(one.shown.kind)) and kind.accepts_more:
        reasons.append(tr("{kind} drafter, with a higher acceptance rate.", kind=kind.name))
    if pays and len(one.labels) > 1:
        reasons.append(precision_note(one.shown.bits))
    if pays and "small" in one.tags and one.shown.size and one.shown.folders is None:
        reasons.append(tr("Quick to download and light on memory."))
    notes = {
        "The drafter was trained on non-thinking replies.": tr("The drafter was trained on non-thinking replies."),
        "The drafter was fine-tuned for Three.js code.": tr("The drafter was fine-tuned for Three.js code."),
        "Trained for token trees, with 4.6 to 9.6× the plain speed on a B200. Slipstream drafts one path.": tr(
            "Trained for token trees, with 4.6 to 9.6× the plain speed on a B200. Slipstream drafts one path."
        ),
        "Trained for token trees. Slipstream drafts one path.": tr("Trained for token trees. Slipstream drafts one path."),
        "Published tokens per round: 2.7 to 3.8 with thinking, 3.3 to 6.5 without.": tr(
            "Published tokens per round: 2.7 to 3.8 with thinking, 3.3 to 6.5 without."
        ),
    }
    note = one.shown.drafter.note if one.shown.drafter else ""
    return sentences(*reasons, notes.get(note, note), one.note)


def _speeds(one: Candidate, machine_measured: bool) -> dict[str, str]:
    speeds = one.shown.speeds
    if speeds:
        drafted = any(kind in speeds for kind in _DRAFTED)
        names: dict[SpeedKind, str] = {
            "dflash": tr("Speed"),
            "chat": tr("Speed in chats"),
            "code": tr("Speed in code and math"),
            "plain": tr("Without DFlash") if drafted else tr("Speed"),
        }
        return {names[kind]: sentences(_speed(speeds[kind]), translated(speeds[kind].reason)) for kind in names if kind in speeds}
    if one.why_not or one.shown.undivided:
        return {}
    if one.shown.needs_gpu:
        return {tr("Speed"): tr("Too slow without a GPU.")}
    if not machine_measured:
        return {tr("Speed"): tr("To see an estimate, choose Help ▸ {page} and measure this computer.", page=machine_title())}
    if one.shown.macs > 1:
        return {tr("Speed"): tr("Predicted once a pair was loaded on {count} Macs.", count=one.shown.macs)}
    return {tr("Speed"): tr("Shown after a few replies.") if one.on_disk else tr("Estimated when the hub responds.")}


def _speed(speed: SpeedRange) -> str:
    """Return a speed and the gain from DFlash: "22–41 tok/s, 1.4–2.6×"."""
    rate = rate_range(speed.low, speed.high)
    if speed.gain is None:
        return rate
    low, high = (number(ratio, 1) for ratio in speed.gain)
    if not speed.gains:
        return tr("{rate}, no gain", rate=rate)
    if speed.may_not_gain:
        return tr("{rate}, no gain to {high}×", rate=rate, high=high)
    return tr("{rate}, {gain}×", rate=rate, gain="–".join(dict.fromkeys((low, high))))


def _reported(one: Candidate) -> str:
    texts = []
    for reported in one.shown.drafter.reported if one.shown.drafter else ():
        low, high = (number(ratio, 2) for ratio in reported.speedup)
        if low == high:
            texts.append(tr("{ratio}× the plain speed on {machine}", ratio=low, machine=reported.machine))
        else:
            texts.append(tr("{low} to {high}× the plain speed on {machine}", low=low, high=high, machine=reported.machine))
    return "; ".join(texts)


def download_text(shown: Variant) -> str:
    if shown.to_download:
        return tr("Download {size}", size=size(shown.to_download))
    published = (shown.drafter.size_gb if shown.drafter else None) or 0
    total = round(published * 1e9) if shown.held else shown.size
    if shown.to_download is None and total:
        return tr("Download about {size}", size=size(total))
    return tr("Download")


def memory_names() -> dict[str, str]:
    """Return the translated names of the lines of a fit."""
    return {
        "Weights of both models": tr("Weights of both models"),
        "Target weights": tr("Target weights"),
        "Target KV cache": tr("Target KV cache"),
        "Recurrent state": tr("Recurrent state"),
        "Drafter weights": tr("Drafter weights"),
        "Drafter context": tr("Drafter context"),
        "12-megapixel image": tr("12-megapixel image"),
        "Workspace": tr("Workspace"),
    }


def memory_text(fit: Fit | None, estimated: bool, macs: int = 1) -> str:
    """Return how much memory a pair needs here, or only its weights if `estimated`."""
    if macs > 1 and fit is not None:
        return sentences(tr("Of {count} Macs, this one needs the most memory.", count=macs), memory_text(fit, estimated))
    if fit is None:
        return tr("Memory use is unknown until the hub responds.")
    if not estimated:
        return unbroken(translated(fit.reason))
    needed, budget = size(fit.needed), size(fit.budget or 0)
    if not fit.budget:
        return tr("The weights need about {needed} of memory.", needed=needed)
    if fit.needed > fit.budget:
        return tr("The weights need about {needed}, more than the {budget} available to models.", needed=needed, budget=budget)
    return tr("The weights need about {needed} of the {budget} available to models.", needed=needed, budget=budget)


def memory_facts(fit: Fit, estimated: bool) -> dict[str, str]:
    names, lines = memory_names(), {}
    for part in fit.lines:
        amount = tr("Unknown") if part.bytes is None else size(part.bytes)
        lines[names[part.what]] = f"{amount}: {part.formula}" if part.formula else amount
    needed = size(fit.needed)
    lines[tr("Total for one chat")] = needed if estimated else tr("{size} at {tokens}", size=needed, tokens=tokens(fit.context))
    if fit.budget is not None:
        lines[tr("Recent chats")] = tr("Up to {size} more", size=size(fit.snapshots))
        free = [tr("{size} free now", size=size(fit.free))] if fit.free is not None else []
        lines[tr("This computer")] = "; ".join([tr("{size} for models", size=size(fit.budget)), *free])
    return lines
