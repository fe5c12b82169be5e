"""Estimate how many Metal dispatches a traced graph costs, with a table row per kind of primitive.

Files refer to MLX at commit 846d176 (0.32.2-dev), under mlx/backend/. Views cost nothing. A reshape costs a copy where the memory
order allows no view, which is followed from array to array. Simplifications: a product is one dispatch (two if its K dimension is
split), an update is in place, and equal operations on the same arrays count once because MLX's export merges them. The figures are
lower bounds for every loop alike.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.benchmarks.tracing import MARK, Primitive, Tensor

Layout = np.ndarray  # int8 over a single byte, so its strides equal the array's in elements


@dataclass(frozen=True)
class Row:
    """A kind of primitive: its dispatches, and the source file that shows them."""

    names: tuple[str, ...]
    dispatches: str
    source: str


TABLE = (
    Row(
        ("Broadcast", "BroadcastAxes", "ExpandDims", "Squeeze", "Slice", "Split", "Transpose", "AsStrided", "StopGradient",
         "Depends",
         "CustomTransforms", "NumberOfElements", "Copy", "Unflatten", "View"),
        "0: a view", "gpu/primitives.cpp, common/common.cpp",
    ),
    Row(("Reshape", "Flatten"), "0, or 1 where the order in memory allows no view", "gpu/primitives.cpp, gpu/copy.cpp reshape_gpu"),
    Row(("contiguous",), "0 for what is contiguous, else 1", "gpu/primitives.cpp Contiguous::eval_gpu"),
    Row(("Concatenate",), "1 a part", "metal/slicing.cpp concatenate_gpu"),
    Row(("SliceUpdate",), "1, in place", "metal/indexing.cpp SliceUpdate::eval_gpu"),
    Row(("DynamicSlice", "DynamicSliceUpdate"), "2: the offset, and the copy", "metal/slicing.cpp compute_dynamic_offset"),
    Row(("Matmul", "AddMM"), "1, and 1 for each operand neither in rows nor in columns", "metal/matmul.cpp Matmul::eval_gpu"),
    Row(
        ("QuantizedMatmul", "GatherQMM", "GatherMM"), "1, and 1 for activations not in rows", "metal/quantized.cpp, matmul.cpp"
    ),
    Row(("Convolution",), "1, and 1 for an input that is not in rows", "metal/conv.cpp depthwise_conv_1D_gpu"),
    Row(
        ("Scatter", "ScatterAxis"), "1, in place",
        "metal/indexing.cpp ScatterAxis::eval_gpu; common/copy.h set_copy_output_data",
    ),
    Row(
        ("Arange", "RandomBits", "Full", "AsType", "Gather", "GatherAxis", "ArgReduce", "ArgSort", "Sort", "ArgPartition",
         "Partition", "Scan", "Pad", "Softmax", "LogSumExp", "Reduce"),
        "1", "eval_gpu of each: metal/primitives.cpp, indexing.cpp, sort.cpp, scan.cpp, softmax.cpp, logsumexp.cpp, reduce.cpp; "
        "gpu/primitives.cpp",
    ),
    Row(("rms_norm", "layer_norm"), "1, and 1 for an input that is not in rows", "metal/normalization.cpp RMSNorm::eval_gpu"),
    Row(("rope",), "1, and 1 where only a part of a head turns", "metal/rope.cpp RoPE::eval_gpu"),
    Row(
        ("scaled_dot_product_attention",),
        "up to 8 queries and 32 queries x grouped heads: 1, over 1,024 keys or more 2; more queries: 1 for dims 64, 80, 96, 128; "
        "192 and 256 are unfused: scale, product, softmax, product, and 1 for a mask, 4 for a causal one. More than 8, fused, "
        "come out as [rows, heads], which the next product reads",
        "metal/scaled_dot_product_attention.cpp has_fused_kernel, use_fallback; mlx/fast.cpp",
    ),
    Row(("gated_delta",), "1", "mlx_lm/models/gated_delta.py gated_delta_kernel"),
    Row(("compiled_",), "1", "metal/compiled.cpp Compiled::eval_gpu"),
    Row(("a kernel of one's own",), "1, and 1 for each input not in rows", "metal/custom_kernel.cpp CustomKernel::eval_gpu"),
    Row(("every other",), "1: unary, binary, ternary", "metal/unary.cpp, binary.cpp, ternary.cpp"),
)  # fmt: skip
_TILED = (64, 72, 80, 96, 128)  # head dims of MLX's attention for more than 8 queries
VIEWS = frozenset(TABLE[0].names)


@dataclass
class Count:
    """The cost of a graph: dispatches by primitive or kernel, and bytes read and written."""

    primitives: int = 0  # without views
    dispatches: int = 0
    bytes: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, dispatches: int, moved: int) -> None:
        self.primitives += 1
        self.dispatches += dispatches
        self.bytes += moved
        self.kinds[name] += dispatches


def count(primitives: Iterable[Primitive]) -> Count:
    """Return the cost of a traced graph."""
    layouts: dict[str, Layout] = {}
    total = Count()
    for each in primitives:
        inputs = [layouts.get(tensor.name, _in_rows(tensor.shape)) for tensor in each.inputs]
        dispatches, views = _cost(each, inputs)
        for tensor, view in zip(each.outputs, views or [_in_rows(tensor.shape) for tensor in each.outputs], strict=True):
            layouts[tensor.name] = view
        if each.name not in VIEWS and (views is None or dispatches):
            total.add(_name(each), dispatches, sum(tensor.nbytes for tensor in (*each.inputs, *each.outputs)) if dispatches else 0)
    return total


def _name(each: Primitive) -> str:
    return each.kernel if each.kernel else each.name


def _cost(each: Primitive, inputs: list[Layout]) -> tuple[int, list[Layout] | None]:
    """Return dispatches and the layouts of outputs that are views of the first input."""
    if each.name in VIEWS or each.name in ("Reshape", "Flatten"):
        return _view(each, inputs)
    if each.name == "CustomKernel":
        return _kernel(each, inputs), _kernel_layouts(each)
    if each.name == "Concatenate":
        return len([tensor for tensor in each.inputs if tensor.nbytes]), None
    if each.name in ("DynamicSlice", "DynamicSliceUpdate"):
        return 2, None
    if each.name in ("Matmul", "AddMM"):
        return 1 + sum(not _product_takes(layout) for layout in inputs[:2]), None
    if each.name in ("QuantizedMatmul", "GatherQMM", "GatherMM", "Convolution"):
        return 1 + (not _rows(inputs[0])), None
    return 1, None


def _kernel(each: Primitive, inputs: list[Layout]) -> int:
    if not each.kernel.startswith(MARK):
        return 1 + sum(not _rows(layout) for layout in inputs)
    if each.kernel.startswith(MARK + "contiguous"):
        return int(not _rows(inputs[0]))
    if each.kernel.startswith(MARK + "rope_partly"):
        return 2
    if each.kernel.startswith((MARK + "rms_norm", MARK + "layer_norm")):
        return 1 + (not _rows(inputs[0]))
    if each.kernel.startswith(MARK + "scaled_dot_product_attention"):
        return attention(each.inputs, each.kernel.startswith(MARK + "scaled_dot_product_attention_causal"))
    return 1


def _kernel_layouts(each: Primitive) -> list[Layout] | None:
    """Return layouts of kernels whose outputs are not in row order."""
    if not each.kernel.startswith(MARK + "scaled_dot_product_attention"):
        return None
    batch, heads, rows, dim = each.outputs[0].shape
    return [_in_rows((batch, rows, heads, dim)).transpose(0, 2, 1, 3)] if rows > 8 and dim in _TILED else None


def attention(inputs: tuple[Tensor, ...], causal: bool) -> int:
    """Return the dispatches of `mx.fast.scaled_dot_product_attention`."""
    (_, heads, rows, dim), (_, kv_heads, keys, _) = inputs[0].shape, inputs[1].shape
    if rows <= 8 and rows * (heads // kv_heads) <= 32 and dim in (64, 96, 128, 256):
        return 2 if keys >= 1024 else 1
    if rows > 8 and dim in _TILED:
        return 1
    return 4 + (4 if causal else len(inputs) > 3)


def _view(each: Primitive, inputs: list[Layout]) -> tuple[int, list[Layout] | None]:
    if not inputs:
        return 0, None
    layout, shapes, own = inputs[0], [tensor.shape for tensor in each.outputs], each.arguments
    if each.name in ("Broadcast", "BroadcastAxes"):
        return 0, [np.broadcast_to(layout, shapes[0])]
    if each.name == "Transpose":
        return 0, [layout.transpose(own[0])]
    if each.name == "Slice":
        return 0, [layout[tuple(slice(a, b, c) for a, b, c in zip(*own[:3], strict=True))]]
    if each.name == "Split":
        axis = own[1] % layout.ndim
        views, begin = [], 0
        for shape in shapes:
            views.append(layout[(slice(None),) * axis + (slice(begin, begin + shape[axis]),)])
            begin += shape[axis]
        return 0, views
    if each.name in ("Reshape", "Flatten", "Unflatten", "ExpandDims", "Squeeze"):
        view = layout.view()
        try:
            view.shape = shapes[0]
        except AttributeError:  # no view has this memory order
            return 1, None
        return 0, [view]
    return 0, [layout] * len(shapes) if all(shape == layout.shape for shape in shapes) else None


def _in_rows(shape: tuple[int, ...]) -> Layout:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return as_strided(np.zeros(1, dtype=np.int8), shape, strides)


def _rows(layout: Layout) -> bool:
    return bool(layout.flags.c_contiguous)


def _product_takes(layout: Layout) -> bool:
    """Whether a product reads this operand without a copy: in rows or in columns."""
    return layout.ndim < 2 or 1 in (layout.strides[-1], layout.strides[-2]) or 1 in layout.shape[-2:]


def where(primitives: Iterable[Primitive], name: Callable[[Primitive], str]) -> Counter[str]:
    """Return dispatches grouped by a given name."""
    out: Counter[str] = Counter()
    for each in primitives:
        out[name(each)] += count([each]).dispatches
    return out
