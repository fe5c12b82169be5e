"""What a pair needs in passing, beside weights and caches: the intermediate results of its widest pass, from the configs alone.

The widest pass reads a chunk of the prompt. MLX queues operations ahead, so the results of a whole layer may be there at once; of
attention's scores, by far the largest where they are formed at all, one copy is (each next step takes over the place of the last).
Metal's fused attention forms none for heads of the sizes in `_FUSED` (MLX 0.32, `ScaledDotProductAttention::use_fallback`).
"""

from mlx_engine.limits import PREFILL_ROWS
from mlx_engine.pairs.compatibility import text_config
from mlx_engine.pairs.drafter_config import DrafterConfig
from mlx_engine.pairs.target_state import layer_states, whole

_FUSED = (64, 80, 128)
_STREAM = 8  # results as wide as the stream a layer: two norms, attention's output and its projection, the two sums, in and out
_QUERIES = 4  # as wide as all queries: projected, normed, turned, scaled
_GATED = 3  # as wide as the feed-forward: gate, up, their product


def reading(config: dict, drafter: DrafterConfig | None, context: int, element: int, fused: bool) -> tuple[int, str] | None:
    """Bytes that a chunk of the prompt needs in passing at the end of `context` tokens, and how they come about.

    Args:
        config: of the target.
        element: bytes of a number.
        fused: whether attention is fused where it can be, as on Metal.
    """
    text = text_config(config)
    hidden, heads, states = whole(text, "hidden_size"), whole(text, "num_attention_heads"), layer_states(config)
    if not (hidden and heads and states):
        return None
    rows = min(context, PREFILL_ROWS)
    size = whole(text, "head_dim") or hidden // heads
    mixing = _QUERIES * heads * size
    if any(state.recurrent for state in states):
        values, keys, key, value = (
            whole(text, f"linear_{name}") or 0 for name in ("num_value_heads", "num_key_heads", "key_head_dim", "value_head_dim")
        )
        mixing = max(mixing, _QUERIES * (2 * keys * key + values * value))
    inner = _STREAM * hidden + mixing + _feed_forward(text, hidden)
    parts = [f"{rows:,} tokens × {inner:,} numbers of one layer"]
    numbers = rows * inner
    if drafter is not None:
        taps = 2 * len(drafter.taps) * hidden  # the outputs, and all of them side by side
        numbers += rows * taps
        parts.append(f"{rows:,} × {taps:,} of features")
    seen = max((context if state.window is None else min(context, state.window + rows) for state in states if state.row), default=0)
    if seen and not (fused and size in _FUSED):
        # a column for each head's sink takes a copy of its own
        copies = 2 if str(text.get("model_type")) == "gpt_oss" else 1
        numbers += copies * heads * rows * seen
        parts.append(f"{copies * heads} × {rows:,} × {seen:,} scores")
    return numbers * element, f"({' + '.join(parts)}) × {element} bytes"


def _feed_forward(text: dict, hidden: int) -> int:
    """Numbers a token in the widest kind of feed-forward."""
    dense = whole(text, "intermediate_size") or 0
    chosen = next((found for name in ("num_experts_per_tok", "top_k_experts") if (found := whole(text, name))), None)
    if chosen is None:
        return _GATED * dense
    expert = whole(text, "moe_intermediate_size") or dense
    shared = whole(text, "shared_expert_intermediate_size") or 0
    # each chosen expert gets a copy of the token and gives one back
    return max(_GATED * dense if expert != dense else 0, chosen * (_GATED * expert + 2 * hidden) + _GATED * shared)
