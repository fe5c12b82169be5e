"""One rank's part of a model, divided by mlx-lm's `shard`.

The head stays whole: only rank 0 needs it, and exchanging the logits of a block takes longer than reading the other part of the
head. Partial sums are added up by modules, so that code that runs a layer's parts itself needs to know nothing about ranks.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.nn.layers.distributed import AllToShardedLinear, QuantizedAllToShardedLinear

_EXCHANGES = 30  # to measure one; the first ones connect and warm up
Tell = Callable[..., None]
"""Tells the other ranks what to repeat: a name, then integers and lists of them."""


@dataclass(frozen=True)
class Sharding:
    """A rank's place among those that run a target together.

    Attributes:
        group: MLX's group of all ranks.
        tell: tells the other ranks what to repeat; None on those, which follow rank 0.
    """

    group: Any
    tell: Tell | None = None


def exchange_seconds(group: Any) -> float:
    """Return the time of one exchange. All ranks call this at the same time."""
    rows, times = mx.zeros((8, 4096), mx.float16), []
    for _ in range(_EXCHANGES):
        mx.eval(rows)
        start = time.perf_counter()
        mx.eval(mx.distributed.all_sum(rows, group=group))
        times.append(time.perf_counter() - start)
    return median(times)


class Summed(nn.Module):
    """A linear layer whose columns are divided: x [.., K / ranks] -> [.., N].

    The result is summed over all ranks.
    """

    def __init__(self, part: nn.Module, group: Any) -> None:
        super().__init__()
        self.part, self._group = part, group

    def __call__(self, x: mx.array) -> mx.array:
        return mx.distributed.all_sum(self.part(x), group=self._group)


def shard(model: nn.Module, head: str, group: Any) -> None:
    """Reduce a model to the part of a group's rank.

    Args:
        model: mlx-lm's model, unevaluated, so that each rank reads its own part only.
        head: dotted path of the head.
        group: MLX's group, or an object with its `rank` and `size`.
    """
    path, _, name = head.rpartition(".")
    owner: Any = model
    for part in filter(None, path.split(".")):
        owner = getattr(owner, part)
    own_head = owner.get(name)
    model.shard(group)
    if own_head is not None:
        owner[name] = own_head
        if hasattr(owner, "sharding_group"):
            owner.sharding_group = None
    for holder in list(model.modules()):
        net: Any = holder
        if hasattr(net, "in_proj_qkv") and getattr(net, "sharding_group", None) is not None:
            net.out_proj, net.sharding_group = Summed(net.out_proj, group), None
        for field, module in list(holder.items()):
            if type(module) in (AllToShardedLinear, QuantizedAllToShardedLinear):
                holder[field] = _plain(module)


def _plain(part: Any) -> nn.Module:
    """Return an ordinary linear layer with the same arrays.

    A rank's rows need no communication, so layers can be fused and kernels can run them.
    """
    plain: Any
    if isinstance(part, AllToShardedLinear):
        plain = nn.Linear(1, 1, bias=False)
    else:
        plain = nn.QuantizedLinear(part.group_size, 1, False, part.group_size, part.bits, part.mode)
    dict.clear(plain)
    dict.update(plain, {name: array for name, array in part.items() if isinstance(array, mx.array)})
    return plain
