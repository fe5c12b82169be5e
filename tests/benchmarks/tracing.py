"""What a stretch of decoding asks of MLX, found without computing it: every primitive, every wait for the device.

The stretch runs as it stands, with stand-ins for `mx.eval`, `mx.async_eval`, `item` and `tolist` that note what was wanted, compute
nothing and hand out made-up numbers; then `mx.export_function` lists the primitives that lead to what was wanted. On a CPU MLX
spells out what a GPU does in one kernel (`mx.fast`, compiled functions, the gated delta rule). Those become markers, kernels with a
name and no content. So a loop is counted as a GPU would run it, on a machine that has none.
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
MARK = "mark_"  # how the names of markers begin
_GRAPH: Any = mx.array  # whose methods are stood in for
_READS = ("item", "tolist")
active = False  # while a stretch is traced: kernels that cannot run here may be called then
_made_together: list[list[mx.array]] = []  # outputs of one kernel each, of the present trace
KEPT = 8  # drafts that are kept in a round that is traced


@dataclass(frozen=True)
class Tensor:
    """An array of the graph: its letter, shape and bytes of an element."""

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
    """One node: MLX's name for it, or that of a kernel or marker, with its arguments."""

    name: str
    arguments: tuple[Any, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    kernel: str = ""  # of a CustomKernel: its name; of a marker: what it stands for


@dataclass
class Trace:
    """The primitives of a stretch in order, and how often the host waited for something that was not computed yet.

    In `idle` of these waits nothing was queued behind what it waited for, so that the device had no work until the host went on.
    """

    primitives: list[Primitive] = field(default_factory=list)
    waits: int = 0
    idle: int = 0
    queued: int = 0  # times that work was handed over without waiting


def kernel(**description: Any) -> Callable[..., list[mx.array]]:
    """`mx.fast.metal_kernel` for our own kernels while they are traced: their outputs are computed together."""
    made: Any = mx.fast.metal_kernel(**description)

    def call(**arguments: Any) -> list[mx.array]:
        _made_together.append(made(**arguments))
        return _made_together[-1]

    return call


def trace(stretch: Callable[[], Any], before: int = 0) -> tuple[Trace, Trace]:
    """Run a stretch `before` times and once more; what it asked for before, and what it asked for in all.

    The difference is one stretch, as it is when many follow each other: what one leaves to the next is found in both. What was made
    holds no numbers, so that whatever took part is of no use afterwards.
    """
    found, earlier = Trace(), Trace()
    _made_together.clear()
    wanted: list[mx.array] = []
    early: list[mx.array] = []
    alive: list[mx.array] = []
    known: dict[int, int] = {}  # ids of all that was wanted, and how often work had been queued before
    here: set[int] = set()  # of what the host has waited for

    def want(parts: Any, done: Container[int]) -> list[mx.array]:
        """Note what is neither computed nor in `done`, and give it."""
        fresh = [array for _, array in _leaves(parts) if isinstance(array, mx.array) and id(array) not in done and _pending(array)]
        new = [array for array in fresh if id(array) not in known]
        known.update({id(array): found.queued for array in new})
        alive.extend(new)  # so that no other array gets its id
        wanted.extend(copy.copy(array) for array in new)  # handles of their own, which no update in place changes
        return fresh

    def waited(*parts: Any) -> None:
        fresh = want(parts, here)
        if not fresh:
            return
        last = max(known[id(array)] for array in fresh)
        found.waits += 1
        found.idle += last >= found.queued - 1
        here.update(each for each, at in known.items() if at <= last)  # what was queued before it has been computed as well
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
        return lambda told: what.primitives.append(_primitive(told)) if told["type"] == "primitive" else None

    with replaced(sys.modules[__name__], "active", True):
        mx.export_function(into(found), run, mx.array(0))
    if early:
        mx.export_function(into(earlier), lambda _: early, mx.array(0))
    return earlier, found


def built_s(stretch: Callable[[], Any], times: int) -> tuple[float, ...]:
    """Processor seconds of the host for each of so many runs of a stretch that is only built: its kernels cannot run here.

    What a stretch reads is made up, as in `trace`, whose rules hold here too; nothing is replaced by markers.
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
    """An attribute replaced meanwhile."""
    before = getattr(owner, name)
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def as_with_metal() -> Iterator[None]:
    """Loops take the way meanwhile that they take where a GPU is the default device; streams stay the CPU's."""
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
    """Everything that a GPU runs as one kernel is one marker meanwhile."""
    mx.disable_compile()  # a compiled function's own graph cannot hold markers
    with ExitStack() as stack:
        stack.callback(mx.enable_compile)
        for name in FAST:
            stack.enter_context(replaced(mx.fast, name, _marked(name, getattr(mx.fast, name))))
        stack.enter_context(replaced(mx, "contiguous", _marked("contiguous", mx.contiguous)))  # which MLX cannot export
        stack.enter_context(replaced(gated_delta, "gated_delta_ops", _marked("gated_delta", gated_delta.gated_delta_ops)))
        for module in [module for name, module in sys.modules.items() if name.split(".")[0] not in ("builtins", "sys")]:
            for name, part in list(getattr(module, "__dict__", {}).items()):
                if type(part).__name__ == "_gc_func" and not name.startswith("_gated_delta"):
                    stack.enter_context(replaced(module, name, _marked(f"compiled_{name}", part)))
        yield


def _marked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are a marker's, of the shapes that the real ones have."""

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
    """Whether an array is not computed yet: only then its graph has a node."""
    text = io.StringIO()
    mx.export_to_dot(text, array)
    return "rectangle" in text.getvalue()


def _numbers(array: mx.array, salt: int) -> Any:
    """Made-up numbers of an array's shape. In two lists the first `KEPT` of a row are alike, the next ones are not."""
    if not array.shape:
        return KEPT
    if array.shape == (2,):
        return [KEPT, 10 + salt % 90]  # how many were kept, and what follows

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
    """Leave nothing behind meanwhile that MLX cannot export, though a later stretch may refer to it."""
    mx.disable_compile()
    try:
        with replaced(mx, "contiguous", lambda array, *_: array * 1), replaced(gated_delta, "gated_delta_ops", _shapes_only):
            yield
    finally:
        mx.enable_compile()


class Clock:
    """Measures how long the host is busy with a stretch: its thread's processor time, less what it spends inside evaluation."""

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
        """Count what is spent in evaluation meanwhile. The gated delta rule, spelt out on a CPU, is a stand-in of its shapes."""
        with ExitStack() as stack:
            for owner, name in ((mx, "eval"), (mx, "async_eval"), (mx, "clear_cache"), *((_GRAPH, name) for name in _READS)):
                stack.enter_context(replaced(owner, name, self._timed(getattr(owner, name))))
            stack.enter_context(replaced(gated_delta, "gated_delta_ops", _shapes_only))
            yield

    def host_s(self, stretch: Callable[[], Any]) -> float:
        """Seconds of the host for one run of a stretch."""
        before, began = self.waited_s, time.thread_time()
        stretch()
        return time.thread_time() - began - (self.waited_s - before)


def _shapes_only(q: mx.array, k: mx.array, v: mx.array, g: mx.array, beta: mx.array, state: mx.array, *_: Any) -> tuple:
    return v + beta[..., None], state + g[:, -1, :, None, None]
