"""Prediction of the memory that a pair needs, from its configs and file sizes."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse
from mlx_engine.hardware import machine
from mlx_engine.models.configs.target_config import STEP, LayerState, layer_states, text_config, text_family, whole

FitVerdict = Literal["comfortable", "tight", "will swap", "no", "unknown"]
CONTEXT = 8192  # tokens, by default
_COMFORTABLE = 0.75  # of the working set; the rest is for snapshots that later turns reuse
_SNAPSHOT_SHARE = 1 / 8  # of the working set: 0.7 GB on a Mac with 8 GB
_LATEST_SHARE = 1 / 2  # of the working set without the weights; the rest is for the current reply
_LARGE = 1e9  # bytes above which a drafter on a GPU is quantized to 4 bits by default (`drafters.loading.usual_bits`)
_FOUR_BITS = 4 + 2 * 16 / 64  # bits per weight in 4 bits: 64 weights share a 16-bit scale and bias
_FUSED = (64, 80, 128)  # head sizes of Metal's fused attention (MLX 0.32, `ScaledDotProductAttention::use_fallback`)
_STREAM = 8  # hidden-sized results per layer: two norms, attention output and its projection, two sums, input, output
_QUERIES = 4  # query-sized results: projected, normed, rotated, scaled
_SEGMENT, _DECAYS = 256, 4  # rows of a step of Mamba-2 (mlx-lm's `ssm_attn`); its matrices of a row for every head and token
_PHOTO = (4032, 3024)  # pixels of an image of 12 megapixels, as phones take them
_GATED = 3  # results as wide as the feed-forward: gate, up, product


@dataclass(frozen=True)
class FitLine:
    """A line of the memory prediction."""

    what: str  # a stable identifier
    bytes: int | None  # None if a config lacks fields
    formula: str  # how the bytes were computed


@dataclass(frozen=True)
class Fit:
    """The predicted memory of a pair at a context length, in bytes (None if unknown)."""

    lines: tuple[FitLine, ...]
    context: int  # tokens
    budget: int | None  # the working set
    limit: int | None = None  # the most that can be allocated
    free: int | None = None  # available now

    @property
    def needed(self) -> int:
        return sum(line.bytes or 0 for line in self.lines)

    @property
    def snapshots(self) -> int:
        """Bytes that snapshots of recent chats may use in addition to `needed`."""
        weights = sum(line.bytes or 0 for line in self.lines if "eights" in line.what)
        return snapshot_budget(self.budget or 0, weights)[0]

    @property
    def crowded(self) -> bool:
        """Whether other programs use memory that the pair needs."""
        return self.free is not None and self.needed > self.free

    @property
    def verdict(self) -> FitVerdict:
        if self.budget is None or any(line.bytes is None for line in self.lines):
            return "unknown"
        if self.needed > (self.limit or 2 * self.budget):
            return "no"
        if self.needed > self.budget:
            return "will swap"
        return "tight" if self.crowded or self.needed > _COMFORTABLE * self.budget else "comfortable"

    @property
    def reason(self) -> EngineText:
        sizes = {name: gigabytes(getattr(self, name) or 0) for name in ("needed", "budget", "limit", "free")}
        values: dict[str, Any] = {"context": self.context, **sizes}
        match self.verdict:
            case "unknown":
                return EngineText.of(
                    "fit_unknown", "The memory use of this pair is unknown because its config.json is missing required fields."
                )
            case "no":
                template = "At {context:,} tokens, this pair needs {needed}, more than the {limit} that this machine can allocate."
                return EngineText.of("fit_no", template, **values)
            case "will swap":
                template = (
                    "At {context:,} tokens, this pair needs {needed}, more than the {budget} available to models. "
                    "Replies would be very slow."
                )
                return EngineText.of("fit_will_swap", template, **values)
            case "tight" if self.crowded:
                template = "At {context:,} tokens, this pair needs {needed}, but only {free} is free. Quit other apps first."
                return EngineText.of("fit_crowded", template, **values)
        template = "At {context:,} tokens, this pair needs {needed} of the {budget} available to models."
        return EngineText.of("fit_ok", template, **values)


def snapshot_budget(working_set: int, weights: int) -> tuple[int, int]:
    """Return the bytes for snapshots of all chats, and the maximum for the latest."""
    most = max(int((working_set - weights) * _LATEST_SHARE), 0)
    return min(int(working_set * _SNAPSHOT_SHARE), most), most


def predict_fit(
    target: dict,
    drafter: dict | None,
    target_bytes: int,
    drafter_bytes: int,
    context: int = CONTEXT,
    facts: MachineFacts | None = None,
    free: int | None = None,
    sees: bool = True,
) -> Fit:
    """Predict the memory of a pair.

    Args:
        target, drafter: contents of the config.json files.
        target_bytes, drafter_bytes: sizes of the stored weights.
        context: context length in tokens.
        facts: measurements of this machine, if known.
        free: bytes available now.
        sees: whether to count an image if the target's config describes how it sees. Its tower is part of the stored weights.
    """
    on_cpu = machine.without_gpu(facts)
    element = 4 if on_cpu else 2
    lines = [FitLine("Target weights", *_weights(target, target_bytes, on_cpu)), *_target_state(target, context, element)]
    config = None if drafter is None else parse(drafter)
    if drafter is not None and config is not None:
        lines += [_drafter_weights(drafter, config, drafter_bytes, on_cpu), _drafter_context(config, context, element)]
    lines += _image(target, element) if sees else []
    lines.append(_workspace(target, config, context, element, fused=not on_cpu))
    return Fit(tuple(lines), context, machine.working_set(facts), machine.allocation_limit(facts), free)


def _weights(config: dict, stored: int, on_cpu: bool) -> tuple[int, str]:
    """Return the bytes of weights in memory, and their formula."""
    # Metal keeps weights as stored; a CPU computes in float32, so floating-point weights grow
    files, quantized = gigabytes(stored), config.get("quantization")
    if not on_cpu:
        return stored, files
    if isinstance(quantized, dict) and (bits := whole(quantized, "bits")) and (group := whole(quantized, "group_size")):
        growth = (bits + 64 / group) / (bits + 32 / group) if quantized.get("mode", "affine") == "affine" else 1.0
        return int(stored * growth), f"{files} × {growth:.3g}"
    if str(config.get("torch_dtype") or config.get("dtype") or "bfloat16").removeprefix("torch.") == "float32":
        return stored, files
    return 2 * stored, f"{files} × 2"


def loaded_drafter_bytes(config: DrafterConfig, stored: int, on_cpu: bool) -> int:
    """Return the bytes of a drafter's weights; a GPU quantizes large ones."""
    return int(stored * _FOUR_BITS / 16) if not on_cpu and config.stored is None and stored > _LARGE else stored


def _drafter_weights(raw: dict, config: DrafterConfig, stored: int, on_cpu: bool) -> FitLine:
    held, formula = _weights(raw, stored, on_cpu)
    if (loaded := loaded_drafter_bytes(config, stored, on_cpu)) != stored:
        held, formula = loaded, f"{gigabytes(stored)} × {_FOUR_BITS:g} / 16"
    # K and V projections are stored twice: per layer for the block, and concatenated for the context
    copy = round(config.injected * held / stored * 2) if stored else 0
    return FitLine("Drafter weights", held + copy, f"{formula} + {gigabytes(copy)}")


def _target_state(config: dict, context: int, element: int) -> list[FitLine]:
    states = layer_states(config)
    if states is None:
        return [FitLine("Target KV cache", None, "")]
    lines = []
    if growing := [state for state in states if state.row]:
        rows = Counter((state.row, state.rows(context)) for state in growing)
        formula = " + ".join(f"{layers} × {count:,} × {row:,}" for (row, count), layers in rows.items())
        lines.append(
            FitLine("Target KV cache", sum(state.bytes(context, element) for state in growing), f"({formula}) × {element}")
        )
    if recurrent := [state for state in states if not state.row]:
        one, layers = recurrent[0], len(recurrent)  # each twice: before and after a block
        formula = f"2 × {layers} × ({one.recurrent:,} × 4 + {one.convolution:,} × {element})"
        lines.append(FitLine("Recurrent state", 2 * sum(state.bytes(context, element) for state in recurrent), formula))
    return lines


def _drafter_context(config: DrafterConfig, context: int, element: int) -> FitLine:
    # layers with the same window share an array for twice the window, or one that grows in steps
    held = {window: context if window is None else min(context + window, 2 * window) for window in set(config.windows)}
    rows = Counter[int]()
    for window in config.windows:
        rows[config.row(window)] += -(-held[window] // STEP) * STEP
    formula = " + ".join(f"{count:,} × {row:,}" for row, count in rows.items())
    total = sum(count * row for row, count in rows.items())
    return FitLine("Drafter context", total * element, f"{f'({formula})' if len(rows) > 1 else formula} × {element}")


def _image(config: dict, element: int) -> list[FitLine]:
    """Return the memory for a typical image, if the target sees.

    It is a photo, whose pixels, passes, and soft tokens exist at the same time.
    """
    if config.get("vision_config") is None:
        return []
    from mlx_engine.vision.vision_checkpoint import described_rules  # imports NumPy, which the picker doesn't wait for

    if (rules := described_rules(config)) is None:
        return []
    rows, columns = rules.grid(*rules.size(*_PHOTO))
    each = -(-rules.image_bytes((rows, columns), element) // (rows * columns)) + rules.token_bytes(element)
    return [FitLine("12-megapixel image", rows * columns * each, f"{rows * columns:,} × {each:,}")]


def _workspace(config: dict, drafter: DrafterConfig | None, context: int, element: int, fused: bool) -> FitLine:
    """Return the memory of the widest pass: a prompt chunk at the end of the context.

    MLX queues operations ahead, so the results of a whole layer can coexist. Attention scores, by far the largest results, exist
    only once, because each step reuses the previous one's memory. Metal's fused attention stores no scores. Choosing experts, and
    norms of many operations, take so long to queue that scores are freed before the results of the feed-forward exist.
    """
    text = text_config(config)
    hidden, heads, states = whole(text, "hidden_size"), whole(text, "num_attention_heads"), layer_states(config)
    if not (hidden and heads and states):
        return FitLine("Workspace", None, "")
    rows = min(context, PREFILL_ROWS)
    taps = 0 if drafter is None else len(drafter.tapped(len(states))) * hidden
    mixing, scores, copied = _attention(config, states, heads, context, fused)
    feed_forward, has_experts = _feed_forward(text, hidden)
    stream = _STREAM * hidden
    family = text_family(config)
    separate = (has_experts and not family.sinks) or family.slow_norms
    phases = [
        ([stream + mixing + feed_forward, 2 * taps], 0),  # the tapped outputs exist twice while they are concatenated
        ([stream + mixing + (0 if separate else feed_forward), taps, *scores], copied),
    ]
    if not fused and family.recurrent == "linear_attn":  # without Metal's kernel, every token's state exists
        phases.append(([stream, taps, max(state.recurrent for state in states)], 0))
    widths, copied = max(phases, key=lambda phase: rows * sum(phase[0]) + phase[1])
    formula = f"{rows:,} × ({' + '.join(f'{width:,}' for width in widths if width)}) × {element}"
    if copied:
        formula += f" + {copied:,} × {element}"
    return FitLine("Workspace", (rows * sum(widths) + copied) * element, formula)


def _attention(config: dict, states: list[LayerState], heads: int, context: int, fused: bool) -> tuple[int, list[int], int]:
    """Return what attention and recurrent layers hold during a prompt chunk.

    Returns:
        The values per token besides scores, those of scores, and the values of copies of cached rows and of the mask.
    """
    text, rows = text_config(config), min(context, PREFILL_ROWS)
    size = whole(text, "head_dim") or (whole(text, "hidden_size") or 0) // heads
    growing = [(context if state.window is None else min(context, state.window + rows), state.row) for state in states if state.row]
    seen, row = max(growing, default=(0, 0))
    mask = rows * seen // 4  # one byte each
    if latent := whole(text, "kv_lora_rank"):
        nope, value, indexers = (whole(text, name) or 0 for name in ("qk_nope_head_dim", "v_head_dim", "index_n_heads"))
        # the rotary part's scores are the mask of the others, and keys and values are expanded for every head; an indexer adds its
        # heads' scores and their order
        scores = [heads * seen] if fused and nope == value and nope in _FUSED else [2 * heads * seen]
        return 0, scores + [(indexers + 1) * seen] * bool(indexers), seen * (heads * (nope + value) + latent) + mask
    mixing = _QUERIES * heads * size
    if any(state.recurrent for state in states):
        names = ("num_value_heads", "num_key_heads", "key_head_dim", "value_head_dim")
        values, keys, key, width = (whole(text, f"linear_{name}") or 0 for name in names)
        mixing = max(mixing, _QUERIES * (2 * keys * key + values * width))
    mixing += _DECAYS * (whole(text, "mamba_num_heads") or 0) * min(rows, _SEGMENT)
    if not seen or (fused and size in _FUSED):
        return mixing, [], 0
    copies = 3 if text_family(config).sinks else 1  # adding a column for the sinks and removing it copies the scores
    return mixing, [copies * heads * seen], seen * row + mask


def _feed_forward(text: dict, hidden: int) -> tuple[int, bool]:
    """Return the widest values per token, and whether there are experts."""
    dense = whole(text, "intermediate_size") or 0
    chosen = next((found for name in ("num_experts_per_tok", "top_k_experts") if (found := whole(text, name))), None)
    if chosen is None:
        return _GATED * dense, False
    expert = whole(text, "moe_intermediate_size") or dense
    shared = whole(text, "shared_expert_intermediate_size") or 0
    # each chosen expert reads and writes a copy of the token
    return max(_GATED * dense if expert != dense else 0, chosen * (_GATED * expert + 2 * hidden) + _GATED * shared), True


def gigabytes(count: float) -> str:
    """Return a size such as “4.3 GB” or “620 MB”."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
