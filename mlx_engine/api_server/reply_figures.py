"""Extensions of all dialects: a reply's timings and details."""

from mlx_engine.api_server.body import Chunk
from mlx_engine.contract.events import Stats


def timings(stats: Stats) -> Chunk:
    """Return a reply's timings in llama.cpp's format.

    Adds the rounds, the tokens per round, and the mean width.
    """
    read = stats.prompt_tokens - stats.reused_tokens
    rate, prompt_rate = stats.decode_tok_s, stats.prompt_tok_s
    return {
        "prompt_n": read,
        "cache_n": stats.reused_tokens,
        "prompt_ms": 1000 * read / prompt_rate if prompt_rate else None,
        "prompt_per_second": prompt_rate,
        "predicted_n": stats.tokens,
        "predicted_ms": 1000 * (stats.tokens - 1) / rate if rate else None,
        "predicted_per_token_ms": 1000 / rate if rate else None,
        "predicted_per_second": rate,
        "draft_n": stats.drafted,
        "draft_n_accepted": stats.accepted,
        "rounds": stats.rounds,
        "tokens_per_round": stats.tokens_per_round,
        "width": sum(stats.widths) / len(stats.widths) if stats.widths else None,
    }


def details(stats: Stats) -> Chunk:
    """Return a reply's `slipstream` object."""
    why = str(stats.why_plain) if stats.why_plain else None
    drafter = {"drafter": stats.drafter, "drafter_kind": stats.drafter_kind} if stats.drafter else {}
    shown = {"count": stats.images, "tokens": stats.image_tokens, "ms": 1000 * stats.image_s}
    images = {"images": shown} if stats.images else {}
    seed = stats.seed - (1 << 64) if stats.seed >> 63 else stats.seed  # fits in the integers of other languages
    cut = {"cut_tokens": stats.cut_tokens} if stats.measured_by == "engine" else {}  # servers don't report it
    return {"mode": stats.mode, "why_plain": why, "seed": seed, **cut, **drafter, **images}
