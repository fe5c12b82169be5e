"""Statistics of a server's reply, from what the server reports.

vLLM reports `metrics`, SGLang `sglext`, and llama.cpp, mlx-vlm, and Slipstream `timings`. Other servers report at
most the number of tokens, and times are measured here. Numbers that aren't reported stay unknown.
"""

from typing import Any

from mlx_engine.contract.errors import DFLASH_OFF, NO_DRAFTER, EngineText
from mlx_engine.contract.events import Stats
from mlx_engine.contract.requests import GenerationRequest

_Found = dict[str, Any]

_WHY_PLAIN = {str(one): one for one in (DFLASH_OFF, NO_DRAFTER)}
_LONGEST_NAME = 100  # characters


def stats(request: GenerationRequest, reported: dict[str, _Found], tokens: int, ttft_s: float | None, decode_s: float) -> Stats:
    """Return a reply's statistics.

    Args:
        request: the request for the reply.
        reported: the objects `usage`, `timings`, `metrics`, `sglext`, and `slipstream` that the server sent.
        tokens: number of token IDs that the server sent; 0 if it sends none.
        ttft_s: seconds from the request to the first text, measured here.
        decode_s: seconds from the first text to the last, measured here.
    """
    usage, timings = reported.get("usage", {}), reported.get("timings", {})
    metrics, sglext, details = (reported.get(name, {}) for name in ("metrics", "sglext", "slipstream"))
    tokens = _count(usage, "completion_tokens") or _count(timings, "predicted_n") or tokens
    prompt = _count(usage, "prompt_tokens") or _count(timings, "prompt_n") + _count(timings, "cache_n")
    prompt_details = usage.get("prompt_tokens_details")
    cached = _count(prompt_details, "cached_tokens") if isinstance(prompt_details, dict) else 0
    rate = _number(timings, "predicted_per_second")
    if (generation_ms := _number(metrics, "generation_time_ms")) and tokens > 1:
        rate = 1000 * (tokens - 1) / generation_ms
    measured_here = rate is None
    if measured_here and tokens > 1 and decode_s > 0:
        rate = (tokens - 1) / decode_s
    rounds, drafted, accepted = _speculation(timings, metrics, sglext)
    width = _number(timings, "width")
    waiting = _number(metrics, "queue_time_ms") or 0.0
    why, shown = details.get("why_plain"), details.get("images")
    images = shown if isinstance(shown, dict) else {}
    return Stats(
        mode="plain" if details.get("mode") == "plain" else request.mode,
        prompt_tokens=prompt,
        reused_tokens=cached or _count(timings, "cache_n"),
        tokens=tokens,
        ttft_s=ttft_s,
        prompt_tok_s=_number(timings, "prompt_per_second"),
        decode_tok_s=rate,
        rounds=rounds,
        drafted=drafted,
        tested=0,
        accepted=accepted,
        accepted_per_round=_per_round(metrics, "per_step_accepted"),
        widths=(round(width),) if width else tuple(drafts + 1 for drafts in _per_round(metrics, "per_step_drafted")),
        plain_steps=0,
        peak_memory_bytes=0,
        seed=seed % (1 << 64) if isinstance(seed := details.get("seed"), int) else request.seed or 0,
        why_plain=_WHY_PLAIN.get(why, EngineText("", why)) if isinstance(why, str) else None,
        waiting_s=waiting / 1000,
        decode_s=(tokens - 1) / rate if rate and tokens > 1 else 0.0,
        measured_by="client" if measured_here else "server",
        drafter=_name(details, "drafter"),
        drafter_kind=_name(details, "drafter_kind"),
        images=_count(images, "count"),
        image_tokens=_count(images, "tokens"),
        image_s=(_number(images, "ms") or 0.0) / 1000,
    )


def _speculation(timings: _Found, metrics: _Found, sglext: _Found) -> tuple[int, int, int]:
    """Return the rounds, and the drafted and accepted tokens; 0 if unknown."""
    found = metrics.get("speculative_decoding")
    if isinstance(found, dict):
        return tuple(_count(found, name) for name in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens"))  # type: ignore[return-value]
    found = sglext.get("spec_tokens_details")
    if isinstance(found, dict):
        names = ("spec_verify_ct", "spec_num_proposed_drafts", "spec_num_correct_drafts")
        return tuple(_count(found, name) for name in names)  # type: ignore[return-value]
    rounds = _count(timings, "rounds") or _count(timings, "draft_rounds")
    return rounds, _count(timings, "draft_n"), _count(timings, "draft_n_accepted")


def _per_round(metrics: _Found, name: str) -> tuple[int, ...]:
    """Return a number for each round; none if vLLM doesn't report them."""
    found = metrics.get("speculative_decoding")
    values = found.get(name) if isinstance(found, dict) else None
    valid = isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 16 for value in values)
    return tuple(values) if valid else ()  # type: ignore[arg-type]


def _name(found: _Found, name: str) -> str:
    """Return a name to show, or an empty string."""
    value = found.get(name)
    return value if isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_NAME else ""


def _number(found: _Found, name: str) -> float | None:
    value = found.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15 else None


def _count(found: _Found, name: str) -> int:
    return int(_number(found, name) or 0)
