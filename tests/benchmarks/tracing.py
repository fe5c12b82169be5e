"""Record what a stretch of decoding asks of MLX without computing it: every primitive, every wait for the device.

The stretch runs unchanged with replacements for `mx.eval`, `mx.async_eval`, `item` and `tolist` that record what was requested,
compute nothing and return made-up numbers. Then `mx.export_function` lists the primitives behind them. What a GPU does in one
kernel (`mx.fast`, compiled functions, the gated delta rule) becomes a marker: a kernel with a name and no content. A loop is
counted as a GPU would run it, without a GPU.
"""

import copy
import io
import sys
import time
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models import gated_delta

FAST = ("rms_norm", "layer_norm", "rope", "scaled_dot_product_attention")
MARK = "mark_"  # prefix of marker names
_GRAPH: Any = mx.array  # whose methods are replaced
_READS = ("item", "tolist")
active = False  # set while tracing, when kernels that can't run here may be called
_made_together: list[list[mx.array]] = []  # outputs of each kernel in the current trace
KEPT = 8  # accepted drafts in a traced round


@dataclass(frozen=True)
class Tensor:
    """An array of the graph: letter, shape and bytes per element."""

    name: str
    shape: tuple[int, ...]
    itemsize: int

    @property
    def nbytes(self) -> int:
        size = self.itemsize
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Primitive:
    """A node: MLX's name for it, or that of a kernel or marker, with its arguments."""

    name: str
    arguments: tuple[Any, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    kernel: str = ""  # name of a CustomKernel, or what a marker replaces


@dataclass
class Trace:
    """The primitives of a stretch in order, and how often the host waited for something not yet computed.

    `idle` counts the waits with nothing queued behind them: the device had no work until the host continued.
    """

    primitives: list[Primitive] = field(default_factory=list)
    constants: dict[str, mx.array] = field(default_factory=dict)  # arrays that exist already, by name
    waits: int = 0
    idle: int = 0
    queued: int = 0  # submissions without waiting


def kernel(**description: Any) -> Callable[..., list[mx.array]]:
    """Replace `mx.fast.metal_kernel` for our kernels while they are traced."""
    made: Any = mx.fast.metal_kernel(**description)

    def call(**arguments: Any) -> list[mx.array]:
        _made_together.append(made(**arguments))
        return _made_together[-1]

    return call


def trace(stretch: Callable[[], Any], before: int = 0) -> tuple[Trace, Trace]:
    """Run a stretch `before` + 1 times; return what the last run asked for.

    The traced arrays contain no numbers and can't be used afterwards.
    """
    found, earlier = Trace(), Trace()
    _made_together.clear()
    wanted: list[mx.array] = []
    early: list[mx.array] = []
    alive: list[mx.array] = []
    known: dict[int, int] = {}  # ids requested, and submissions before each
    here: set[int] = set()  # what the host has waited for

    def want(parts: Any, done: Container[int]) -> list[mx.array]:
        """Record what is neither computed nor in `done`, and return it."""
        fresh = [array for _, array in _leaves(parts) if isinstance(array, mx.array) and id(array) not in done and _pending(array)]
        new = [array for array in fresh if id(array) not in known]
        known.update({id(array): found.queued for array in new})
        alive.extend(new)  # keeps its id in use
        wanted.extend(copy.copy(array) for array in new)  # separate handles that in-place updates don't change
        return fresh

    def waited(*parts: Any) -> None:
        fresh = want(parts, here)
        if not fresh:
            return
        last = max(known[id(array)] for array in fresh)
        found.waits += 1
        found.idle += last >= found.queued - 1
        here.update(each for each, at in known.items() if at <= last)  # everything queued before it is computed as well
        for together in _made_together:
            if not here.isdisjoint(map(id, together)):
                here.update(map(id, together))

    def queued(*parts: Any) -> None:
        found.queued += bool(want(parts, known))

    own = {name: getattr(_GRAPH, name) for name in _READS}
    salts = count(17)

    def read(name: str) -> Callable[[mx.array], Any]:
        def made_up(array: mx.array) -> Any:
            if not _pending(array) and id(array) not in known:
                return own[name](array)
            waited(array)
            return _numbers(array, next(salts)) if name == "tolist" else KEPT

        return made_up

    def run(_: mx.array) -> list[mx.array]:
        with ExitStack() as stack:
            for owner, name, stand_in in (
                (mx, "eval", waited),
                (mx, "async_eval", queued),
                (mx, "synchronize", lambda *_: None),
                (mx, "clear_cache", lambda: None),
                *((_GRAPH, name, read(name)) for name in _READS),
            ):
                stack.enter_context(replaced(owner, name, stand_in))
            stack.enter_context(markers())
            for _times in range(before):
                stretch()
            early.extend(wanted)
            earlier.waits, earlier.idle, earlier.queued = found.waits, found.idle, found.queued
            stretch()
        return wanted

    def into(what: Trace) -> Callable[[dict[str, Any]], None]:
        def add(told: dict[str, Any]) -> None:
            if told["type"] == "primitive":
                what.primitives.append(_primitive(told))
            elif told["type"] == "constants":
                what.constants.update(told["constants"])

        return add

    with replaced(sys.modules[__name__], "active", True):
        mx.export_function(into(found), run, mx.array(0))
    if early:
        mx.export_function(into(earlier), lambda _: early, mx.array(0))
    return earlier, found


def built_s(stretch: Callable[[], Any], times: int) -> tuple[float, ...]:
    """Return host processor seconds for each of several runs that are built but not computed.

    Inputs are made up as in `trace`; nothing is replaced by markers.
    """
    out: list[float] = []
    salts = count(17)

    def run(nothing: mx.array) -> mx.array:
        with ExitStack() as stack:
            for owner, name, stand_in in (
                *((mx, name, lambda *_: None) for name in ("eval", "async_eval", "synchronize", "clear_cache")),
                (_GRAPH, "item", lambda _: KEPT),
                (_GRAPH, "tolist", lambda array: _numbers(array, next(salts))),
            ):
                stack.enter_context(replaced(owner, name, stand_in))
            for _ in range(times):
                began = time.thread_time()
                stretch()
                out.append(time.thread_time() - began)
        return nothing

    with replaced(sys.modules[__name__], "active", True), replaced(gated_delta, "gated_delta_ops", _shapes_only):
        mx.export_function(lambda _: None, run, mx.array(0))
    return tuple(out)


@contextmanager
def replaced(owner: Any, name: str, stand_in: Any) -> Iterator[None]:
    """Replace an attribute inside the block."""
    before = getattr(owner, name)
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def as_with_metal() -> Iterator[None]:
    """Make loops take the branch for a GPU inside the block; streams stay on the CPU."""
    default, new, own = mx.default_stream, mx.new_stream, mx.new_thread_local_stream
    with (
        replaced(mx, "default_device", lambda: mx.Device(mx.gpu)),
        replaced(mx, "default_stream", lambda *_: default(mx.Device(mx.cpu))),
        replaced(mx, "new_stream", lambda *_: new(mx.Device(mx.cpu))),
        replaced(mx, "new_thread_local_stream", lambda *_: own(mx.Device(mx.cpu))),
    ):
        yield


@contextmanager
def markers() -> Iterator[None]:
    """Turn everything that a GPU runs as one kernel into one marker inside the block."""
    mx.disable_compile()  # a compiled function's graph can't contain markers
    with ExitStack() as stack:
        stack.callback(mx.enable_compile)
        for name in FAST:
            stack.enter_context(replaced(mx.fast, name, _marked(name, getattr(mx.fast, name))))
        stack.enter_context(replaced(mx, "contiguous", _marked("contiguous", mx.contiguous)))  # MLX can't export it
        stack.enter_context(replaced(gated_delta, "gated_delta_ops", _marked("gated_delta", gated_delta.gated_delta_ops)))
        for module in [module for name, module in sys.modules.items() if name.split(".")[0] not in ("builtins", "sys")]:
            for name, part in list(getattr(module, "__dict__", {}).items()):
                if type(part).__name__ == "_gc_func" and not name.startswith("_gated_delta"):
                    stack.enter_context(replaced(module, name, _marked(f"compiled_{name}", part)))
        yield


def _marked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a marker's results, in the shapes of the real ones."""

    def marked(*args: Any, **kwargs: Any) -> Any:
        results = function(*args, **kwargs)
        outputs = [results] if isinstance(results, mx.array) else list(results)
        inputs = [array for _, array in _leaves((args, kwargs)) if isinstance(array, mx.array)]
        variant = "_causal" if kwargs.get("mask") == "causal" and name == FAST[3] else ""
        if name == "rope" and args[1] < args[0].shape[-1]:
            variant = "_partly"
        kernel: Any = mx.fast.metal_kernel(
            name=f"{MARK}{name}{variant}",
            input_names=[f"i{n}" for n in range(len(inputs))],
            output_names=[f"o{n}" for n in range(len(outputs))],
            source=f"// {MARK}{name}",
        )
        made = kernel(
            inputs=inputs,
            output_shapes=[array.shape for array in outputs],
            output_dtypes=[array.dtype for array in outputs],
            grid=(1, 1, 1),
            threadgroup=(1, 1, 1),
        )
        return made[0] if isinstance(results, mx.array) else type(results)(made)

    return marked


def _leaves(parts: Any) -> list[tuple[str, Any]]:
    return list(tree_flatten(parts))  # type: ignore[arg-type]


def _pending(array: mx.array) -> bool:
    """Whether an array is not computed yet; only then its graph has a node."""
    text = io.StringIO()
    mx.export_to_dot(text, array)
    return "rectangle" in text.getvalue()


def _numbers(array: mx.array, salt: int) -> Any:
    """Return made-up numbers of an array's shape, with the first `KEPT` of a row alike in two lists."""
    if not array.shape:
        return KEPT
    if array.shape == (2,):
        return [KEPT, 10 + salt % 90]  # accepted count and next token

    def row(shape: tuple[int, ...]) -> Any:
        if len(shape) == 1:
            return [7 if i < KEPT else 10 + (salt + i) % 90 for i in range(shape[0])]
        return [row(shape[1:]) for _ in range(shape[0])]

    return row(tuple(array.shape))


def _primitive(what: dict[str, Any]) -> Primitive:
    tensors = {
        side: tuple(Tensor(name, tuple(shape), dtype.size) for name, shape, dtype in what[side]) for side in ("inputs", "outputs")
    }
    arguments, kernel = tuple(what["arguments"]), ""
    if what["name"] == "CustomKernel":
        kernel = str(arguments[0]).removeprefix("custom_kernel_")
    return Primitive(what["name"], arguments, tensors["inputs"], tensors["outputs"], kernel)


@contextmanager
def exportable() -> Iterator[None]:
    """Allow only what MLX can export inside the block."""
    mx.disable_compile()
    try:
        with replaced(mx, "contiguous", lambda array, *_: array * 1), replaced(gated_delta, "gated_delta_ops", _shapes_only):
            yield
    finally:
        mx.enable_compile()


class Clock:
    """Measures the host's processor time of a stretch, without time spent in evaluation."""

    def __init__(self) -> None:
        self.waited_s = 0.0
        self._inside = False

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            began, self._inside = time.thread_time(), True
            try:
                return function(*args, **kwargs)
            finally:
                self.waited_s += time.thread_time() - began
                self._inside = False

        return timed

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure time in evaluation inside the block. The gated delta rule is replaced by its shapes."""
        with ExitStack() as stack:
            for owner, name in ((mx, "eval"), (mx, "async_eval"), (mx, "clear_cache"), *((_GRAPH, name) for name in _READS)):
                stack.enter_context(replaced(owner, name, self._timed(getattr(owner, name))))
            stack.enter_context(replaced(gated_delta, "gated_delta_ops", _shapes_only))
            yield

    def host_s(self, stretch: Callable[[], Any]) -> float:
        """Return the host's seconds for one run of a stretch."""
        before, began = self.waited_s, time.thread_time()
        stretch()
        return time.thread_time() - began - (self.waited_s - before)


def _shapes_only(q: mx.array, k: mx.array, v: mx.array, g: mx.array, beta: mx.array, state: mx.array, *_: Any) -> tuple:
    return v + beta[..., None], state + g[:, -1, :, None, None]
