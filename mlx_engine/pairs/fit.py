"""Memory that a pair needs, line by line, from its configs and file sizes: before a download as well as after it.

`tests.benchmarks.fit` compares it with measured peaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mlx_engine.errors import UserError
from mlx_engine.events import MachineFacts
from mlx_engine.pairs import room
from mlx_engine.pairs.drafter_config import DrafterConfig, parse
from mlx_engine.pairs.target_state import STEP, layer_states, whole
from mlx_engine.pairs.workspace import reading

Verdict = Literal["comfortable", "tight", "will swap", "no", "unknown"]
CONTEXT = 8192  # tokens, where none are asked for
_COMFORTABLE = 0.75  # of the working set: the rest is for what later turns may reuse
_LARGE = 1e9  # bytes from which on a drafter on a GPU is kept in 4 bits unless asked otherwise (`drafters.loading.usual_bits`)
_FOUR = 4 + 2 * 16 / 64  # bits of a weight in 4 bits: a scale and a bias of 16 bits for 64 weights


@dataclass(frozen=True)
class Line:
    """One part of the sum: bytes, or None where a config does not say enough."""

    what: str
    bytes: int | None
    how: str


@dataclass(frozen=True)
class Fit:
    """Lines that add up to `needed`, at a context of so many tokens.

    Bytes: `budget` is the working set, `ceiling` what can be allocated at all, `free` what is free just now; None where unknown.
    """

    lines: tuple[Line, ...]
    context: int
    budget: int | None
    ceiling: int | None = None
    free: int | None = None

    @property
    def needed(self) -> int:
        return sum(line.bytes or 0 for line in self.lines)

    @property
    def verdict(self) -> Verdict:
        """Comfortable: the working set has room to spare, and that much is free now. Tight: it has room. Will swap: it has not,
        but the memory has. No: it cannot be allocated."""
        if self.budget is None or any(line.bytes is None for line in self.lines):
            return "unknown"
        if self.needed > (self.ceiling or 2 * self.budget):
            return "no"
        if self.needed > self.budget:
            return "will swap"
        crowded = self.free is not None and self.needed > self.free
        return "tight" if crowded or self.needed > _COMFORTABLE * self.budget else "comfortable"

    @property
    def reason(self) -> str:
        """The verdict in a sentence."""
        needs = f"Needs {gigabytes(self.needed)} at {self.context:,} tokens"
        match self.verdict:
            case "unknown":
                return "What it needs is not known before its config.json says more."
            case "no":
                return f"{needs}, more than the {gigabytes(self.ceiling or 0)} that can be had here at all."
            case "will swap":
                return f"{needs}, more than the {gigabytes(self.budget or 0)} that models may use here: the system would swap."
            case _:
                crowded = self.free is not None and self.needed > self.free
                now = f"; {gigabytes(self.free or 0)} are free just now, so quit other programs first" if crowded else ""
                return f"{needs} of the {gigabytes(self.budget or 0)} that models may use here{now}."


def fit(
    target: dict,
    drafter: dict | None,
    target_bytes: int,
    drafter_bytes: int,
    context: int = CONTEXT,
    facts: MachineFacts | None = None,
    budget: int | None = None,
    free: int | None = None,
) -> Fit:
    """The memory of a pair at a context of so many tokens.

    Args:
        target, drafter: contents of the config.json files.
        target_bytes, drafter_bytes: of the weights, as stored.
        facts: of the machine, if they were measured; else it is taken for a Mac whose working set is `budget`.
        budget: bytes that models may use; None: what the facts say, or about what Metal recommends.
        free: bytes that are free just now.

    Raises:
        UserError: the drafter's config is not one that Slipstream runs.
    """
    on_cpu = facts is not None and facts.device == "CPU"
    element = 4 if on_cpu else 2
    lines = [_weights("target weights", target, target_bytes, on_cpu), *_state(target, context, element)]
    config = None if drafter is None else parse(drafter)
    if drafter is not None and config is not None:
        lines += [_drafter_weights(drafter, config, drafter_bytes, on_cpu), _drafter_context(config, context, element)]
    work = reading(target, config, context, element, fused=not on_cpu)
    lines.append(
        Line("workspace", *work) if work else Line("workspace", None, "its config.json does not say how wide its layers are")
    )
    limit = room.ceiling(facts) if budget is None else None
    return Fit(tuple(lines), context, room.working_set(facts) if budget is None else budget, limit, free)


def foretold(target: dict, drafter: dict | None, sizes: tuple[int, int], context: int, facts: MachineFacts | None) -> Fit | str:
    """`fit` on this machine as it is now, or the sentence that says why it cannot be told."""
    try:
        return fit(target, drafter, *sizes, context, facts, free=room.free_memory())
    except UserError as error:
        return str(error)


def _weights(what: str, config: Mapping, stored: int, on_cpu: bool) -> Line:
    """Metal keeps weights as they are stored. On a CPU everything is computed in float32, so what is floating point grows."""
    if not on_cpu:
        return Line(what, stored, "size of the files")
    quantised = config.get("quantization")
    if isinstance(quantised, dict) and (bits := whole(quantised, "bits")) and (group := whole(quantised, "group_size")):
        if quantised.get("mode", "affine") != "affine":
            return Line(what, stored, "size of the files")
        grown = (bits + 64 / group) / (bits + 32 / group)
        return Line(what, int(stored * grown), f"{gigabytes(stored)} of files, scales and biases in 4 bytes instead of 2")
    single = str(config.get("torch_dtype") or config.get("dtype") or "bfloat16").removeprefix("torch.") == "float32"
    return Line(what, stored if single else 2 * stored, f"{gigabytes(stored)} of files, in 4 bytes a number")


def _drafter_weights(raw: dict, config: DrafterConfig, stored: int, on_cpu: bool) -> Line:
    line = _weights("drafter weights", raw, stored, on_cpu)
    held, how = line.bytes or 0, line.how
    if not on_cpu and config.stored is None and stored > _LARGE:
        held, how = int(stored * _FOUR / 16), f"{gigabytes(stored)} of files, in 4 bits a weight"
    # the rows that make keys and values stand twice: in each layer for the block, and side by side for the context
    twice = 2 * config.layers * config.kv_heads * config.head_dim * config.hidden_size
    again = round(twice * held / stored * 2) if stored else 0
    return Line("drafter weights", held + again, f"{how}; {again / 1e6:,.1f} MB for the context's projection" if again else how)


def _state(config: dict, context: int, element: int) -> list[Line]:
    states = layer_states(config)
    if states is None:
        return [Line("target K/V", None, "its config.json does not say how large a layer's K/V is")]
    lines = []
    if growing := [state for state in states if state.row]:
        rows = sum(state.rows(context) for state in growing)
        widths = sorted({state.row for state in growing})
        wide = f"{widths[0]:,}" if len(widths) == 1 else f"{widths[0]:,} to {widths[-1]:,}"
        how = f"{rows:,} rows in {len(growing)} layers × {wide} numbers × {element} bytes"
        lines.append(Line("target K/V", sum(state.bytes(context, element) for state in growing), how))
    if recurrent := [state for state in states if state.recurrent]:
        one = recurrent[0]
        each = f"{one.recurrent:,} × 4 + {one.convolution:,} × {element}"
        how = f"2 × {len(recurrent)} layers × ({each}) bytes: before and after a block"
        lines.append(Line("recurrent state", 2 * sum(state.bytes(context, element) for state in recurrent), how))
    return lines


def _drafter_context(config: DrafterConfig, context: int, element: int) -> Line:
    """Layers of one window share an array, which has room for twice the window, or grows in steps."""
    held = {window: context if window is None else min(context + window, 2 * window) for window in set(config.windows)}
    rows = sum(-(-held[window] // STEP) * STEP for window in config.windows)
    how = f"2 × {rows:,} rows in {config.layers} layers × {config.kv_heads} heads × {config.head_dim} × {element} bytes"
    return Line("drafter context", 2 * rows * config.kv_heads * config.head_dim * element, how)


def gigabytes(count: float) -> str:
    """In words, with as many digits as tell something."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
