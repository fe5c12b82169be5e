"""The verdict on a comparison, in words."""

from collections.abc import Sequence

from app.conversations import words
from app.conversations.comparison_record import ComparisonRecord


def verdict_on(record: ComparisonRecord) -> tuple[str, str]:
    """The verdict on a comparison: a headline and the sentence under it."""
    headline = "No speed was measured: the reply is too short"
    if record.ratio is not None:
        if record.ratio >= 1.05:
            headline = f"DFlash is {words.number(record.ratio, 1)} times as fast"
        elif record.ratio > 0.95:
            headline = "Both are equally fast"
        else:
            headline = f"DFlash is slower here, at {words.number(record.ratio, 2)} times the plain rate"
    place = words.number((record.first_difference or 0) + 1)
    match record.verdict:
        case "identical":
            verdict = f"The two texts are identical, token for token ({words.number(record.plain.stats.tokens)} tokens)."
        case "tie":
            verdict = (
                f"The first difference is at token {place}, and it is a tie: the two best tokens were as good as equal"
                f"{_margin(record)}, within the rounding of this machine's numbers."
            )
        case "different":
            verdict = f"The two texts differ from token {place} on{_margin(record)}. This is not a rounding tie."
    return headline, verdict


def spread(values: Sequence[float]) -> str:
    """From the least to the greatest of several rates, empty when there is only one."""
    if len(values) < 2:
        return ""
    digits = 0 if min(values) >= 20 else 1
    return f"{words.number(min(values), digits)} to {words.number(max(values), digits)}"


def _margin(record: ComparisonRecord) -> str:
    return "" if record.margin is None else f" (their scores lay {record.margin:.3g} apart)"
