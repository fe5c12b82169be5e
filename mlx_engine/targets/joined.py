"""Linear modules with the same input, joined into one."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn


def join(*parts: nn.Module) -> nn.Module | None:
    """Return a linear module with the rows of all parts, in order.

    None if they differ in kind, packing, or input. The parts' own weights become views of the joined ones, so no byte is held
    twice.
    """
    kind, first = type(parts[0]), parts[0]
    if kind not in (nn.Linear, nn.QuantizedLinear) or any(type(part) is not kind or "bias" in part for part in parts):
        return None
    joined: Any
    if kind is nn.Linear:
        joined = nn.Linear(1, 1, bias=False)
    else:
        settings = {(part.group_size, part.bits, part.mode) for part in parts}
        if len(settings) > 1:
            return None
        group, bits, mode = settings.pop()
        joined = nn.QuantizedLinear(group, 1, False, group, bits, mode)
    names = [name for name in ("weight", "scales", "biases") if isinstance(first.get(name), mx.array)]
    if any(len({(part[name].dtype, part[name].shape[1:]) for part in parts}) > 1 for name in names):
        return None
    for name in names:
        arrays = [part[name] for part in parts]
        joined[name] = mx.concatenate(arrays)
        mx.eval(joined[name])
        at = 0
        for part, array in zip(parts, arrays, strict=True):
            part[name] = joined[name][at : at + array.shape[0]]
            at += array.shape[0]
        del arrays, array
        mx.eval([part[name] for part in parts])  # now views, so the original arrays are freed
    return joined
