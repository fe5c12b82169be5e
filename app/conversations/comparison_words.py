"""The verdict on a comparison, in words."""

from collections.abc import Sequence

from app.conversations import wording
from app.conversations.comparison_record import ComparisonRecord
from app.language import figures, tr
from mlx_engine.events import ComparisonVerdict


def verdict_on(record: ComparisonRecord) -> tuple[str, str]:
    """The verdict on a comparison: a headline and the sentence under it."""
    headline = tr("No speed was measured: the reply is too short")
    if record.ratio is not None:
        if record.ratio >= 1.05:
            headline = tr("DFlash is {ratio} times as fast", ratio=wording.number(record.ratio, 1))
        elif record.ratio > 0.95:
            headline = tr("Both are equally fast")
        else:
            headline = tr("DFlash is slower here, at {ratio} times the plain rate", ratio=wording.number(record.ratio, 2))
    place = wording.number((record.first_difference or 0) + 1)
    match record.verdict:
        case "identical":
            tokens = wording.tokens(record.plain.stats.tokens)
            verdict = tr("The two texts are identical, token for token ({tokens}).", tokens=tokens)
        case "tie":
            verdict = tr(
                "The first difference is at token {place}, and it is a tie: the two best tokens were as good as "
                "equal{record}, within the rounding of this machine's numbers.",
                place=place,
                record=_margin(record),
            )
        case "different":
            verdict = tr(
                "The two texts differ from token {place} on{record}. This is not a rounding tie.",
                place=place,
                record=_margin(record),
            )
    return headline, verdict


def short_verdict(verdict: ComparisonVerdict) -> str:
    """In a word, for a list."""
    return {"identical": tr("identical"), "tie": tr("tie"), "different": tr("different")}[verdict]


def spread(values: Sequence[float]) -> str:
    """From the least to the greatest of several rates, empty when there is only one."""
    if len(values) < 2:
        return ""
    digits = 0 if min(values) >= 20 else 1
    return tr("{least} to {most}", least=wording.number(min(values), digits), most=wording.number(max(values), digits))


def _margin(record: ComparisonRecord) -> str:
    return "" if record.margin is None else tr(" (their scores lay {margin} apart)", margin=figures(record.margin))
