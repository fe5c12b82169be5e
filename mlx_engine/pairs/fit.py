"""Memory that a pair needs, line by line, from its configs and file sizes. A first estimate, not yet compared with measurements."""

import os
from dataclasses import dataclass
from typing import Literal

from mlx_engine.pairs.compatibility import text_config
from mlx_engine.pairs.drafter_config import parse

Verdict = Literal["comfortable", "tight", "will swap", "no", "unknown"]
_ELEMENT = 2  # bytes of a bfloat16
_CHUNK = 2048  # prompt tokens that one pass of prefill reads


@dataclass(frozen=True)
class Line:
    """One part of the sum: bytes, or None where a config does not say enough."""

    what: str
    bytes: int | None
    how: str


@dataclass(frozen=True)
class Fit:
    """Lines that add up to `needed`; the verdict is over `budget`, both in bytes."""

    lines: tuple[Line, ...]
    budget: int | None

    @property
    def needed(self) -> int:
        return sum(line.bytes or 0 for line in self.lines)

    @property
    def verdict(self) -> Verdict:
        if self.budget is None or any(line.bytes is None for line in self.lines):
            return "unknown"
        share = self.needed / self.budget
        return "comfortable" if share <= 0.7 else "tight" if share <= 1.0 else "will swap" if share <= 1.3 else "no"


def fit(target: dict, drafter: dict | None, target_bytes: int, drafter_bytes: int, context: int, budget: int | None) -> Fit:
    """The memory of a pair at a context of so many tokens.

    Args:
        target, drafter: contents of the config.json files.
        target_bytes, drafter_bytes: of the weights, as stored.
        budget: bytes that the GPU may use on this machine, or None when that is not known.
    """
    lines = [Line("target weights", target_bytes, "size of the files"), *_target_state(text_config(target), context)]
    wide = _whole(text_config(target), "intermediate_size") or _whole(text_config(target), "moe_intermediate_size") or 0
    if drafter is not None:
        config = parse(drafter)
        rows = sum(min(context, window or context) for window in config.windows)
        lines += [
            Line("drafter weights", drafter_bytes, "size of the files"),
            Line(
                "drafter context",
                2 * rows * config.kv_heads * config.head_dim * _ELEMENT,
                f"2 × {rows:,} rows in {config.layers} layers × {config.kv_heads} heads × {config.head_dim} × {_ELEMENT} bytes",
            ),
        ]
    chunk = min(context, _CHUNK)
    lines.append(
        Line("workspace", 3 * chunk * wide * _ELEMENT or None, f"3 × {chunk:,} tokens of prefill × {wide:,} × {_ELEMENT} bytes")
    )
    return Fit(tuple(lines), budget)


def _target_state(text: dict, context: int) -> list[Line]:
    layers, heads = _whole(text, "num_hidden_layers"), _whole(text, "num_attention_heads")
    hidden = _whole(text, "hidden_size")
    kv = _whole(text, "num_key_value_heads") or heads
    size = _whole(text, "head_dim") or (hidden // heads if hidden and heads else None)
    if not (layers and kv and size):
        return [Line("target K/V", None, "its config.json does not say how large a layer's K/V is")]
    kinds = text.get("layer_types")
    interval = _whole(text, "full_attention_interval")
    if not isinstance(kinds, list) or len(kinds) != layers:
        kinds = ["full_attention" if not interval or (n + 1) % interval == 0 else "linear_attention" for n in range(layers)]
    window = _whole(text, "sliding_window") or context
    full, sliding = kinds.count("full_attention"), kinds.count("sliding_attention")
    rows = full * context + sliding * min(context, window)
    how = f"2 × {rows:,} rows in {full + sliding} layers × {kv} heads × {size} × {_ELEMENT} bytes"
    lines = [Line("target K/V", 2 * rows * kv * size * _ELEMENT, how)]
    if recurrent := kinds.count("linear_attention"):
        values, key, value = (_whole(text, f"linear_{name}") for name in ("num_value_heads", "key_head_dim", "value_head_dim"))
        count = recurrent * values * key * value * 4 if values and key and value else None
        lines.append(Line("recurrent state", count, f"{recurrent} layers × {values} heads × {key} × {value} × 4 bytes"))
    return lines


def budget_of_this_machine() -> int | None:
    """Bytes that the GPU may use: on a Mac three quarters of the memory, which is about what Metal recommends; else all memory."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None
    return memory * 3 // 4 if os.uname().sysname == "Darwin" else memory


def _whole(config: dict, name: str) -> int | None:
    value = config.get(name)
    return value if type(value) is int and 0 < value < 2**40 else None
