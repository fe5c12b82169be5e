"""The tower of Qwen3-VL, Qwen3.5, and its successors."""

from collections.abc import Iterator

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_engine.vision.image_rules import PreparedImage
from mlx_engine.vision.qwen_rules import QwenRules
from mlx_engine.vision.tower import Parts, Tower, attend, frequencies, gelu, rotate

_EPSILON = 1e-6


class QwenTower(Tower):
    """Blocks over patches, whose output is merged to soft tokens.

    Module names are those of checkpoints. Patches of a soft token are next to each other.
    """

    def __init__(self, rules: QwenRules) -> None:
        super().__init__()
        self._rules = rules
        width, merged = rules.width, rules.width * rules.merge**2
        self.patch_embed = Parts(proj=nn.Linear(3 * rules.frames * rules.patch**2, width))
        self.pos_embed = nn.Embedding(rules.table**2, width)
        self.blocks = [_Block(rules) for _ in range(rules.depth)]
        self.merger = _merger(width, merged, rules.hidden)
        self.deepstack_merger_list = [_merger(merged, merged, rules.hidden) for _ in rules.deepstack]

    def steps(self, image: PreparedImage) -> Iterator[mx.array]:
        rules = self._rules
        shape = (image.grid[0] * rules.merge, image.grid[1] * rules.merge)
        x = self.patch_embed.proj(mx.array(image.patches).astype(self.dtype))
        yield x
        x = x + self._learned_positions(shape)
        each = frequencies(rules.theta, rules.width // rules.heads // 4)
        places = np.stack(np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij"), axis=-1)  # rows, columns
        angles = mx.array((places[..., None].astype(np.float32) * each).reshape(*shape, 1, -1))
        angles = self._grouped(angles)
        deeper = dict(zip(rules.deepstack, self.deepstack_merger_list, strict=True))
        found, tokens = list[mx.array](), image.grid[0] * image.grid[1]
        for index, block in enumerate(self.blocks):
            x = block(x, angles)
            if (merger := deeper.get(index)) is not None:
                found.append(_merged(merger, merger.norm(x.reshape(tokens, -1))))
            yield x
        found.insert(0, _merged(self.merger, self.merger.norm(x).reshape(tokens, -1)))
        yield mx.concatenate(found, axis=-1) if deeper else found[0]

    def _learned_positions(self, shape: tuple[int, int]) -> mx.array:
        """Return the table of positions, stretched to a grid of patches, [patches, width]."""
        side, width = self._rules.table, self._rules.width
        rows, columns = (_stretching(side, count) for count in shape)
        table = self.pos_embed(mx.arange(side**2)).astype(mx.float32).reshape(side, side * width)
        stretched = (rows @ table).reshape(shape[0], side, width)
        return self._grouped(columns @ stretched).astype(self.dtype)

    def _grouped(self, x: mx.array) -> mx.array:
        """Return [rows, columns, ...] as [patches, ...], in the order of the patches."""
        merge = self._rules.merge
        rows, columns, *rest = x.shape
        split = x.reshape(rows // merge, merge, columns // merge, merge, *rest)
        return split.swapaxes(1, 2).reshape(rows * columns, *rest)


def _merger(normed: int, merged: int, hidden: int) -> Parts:
    norm = nn.LayerNorm(normed, _EPSILON)
    return Parts(norm=norm, linear_fc1=nn.Linear(merged, merged), linear_fc2=nn.Linear(merged, hidden))


def _merged(merger: Parts, x: mx.array) -> mx.array:
    return merger.linear_fc2(nn.gelu(merger.linear_fc1(x)))


class _Block(nn.Module):
    def __init__(self, rules: QwenRules) -> None:
        super().__init__()
        width, self._heads = rules.width, rules.heads
        self.norm1, self.norm2 = nn.LayerNorm(width, _EPSILON), nn.LayerNorm(width, _EPSILON)
        self.attn = Parts(qkv=nn.Linear(width, 3 * width), proj=nn.Linear(width, width))
        self.mlp = Parts(linear_fc1=nn.Linear(width, rules.feed_forward), linear_fc2=nn.Linear(rules.feed_forward, width))

    def __call__(self, x: mx.array, angles: mx.array) -> mx.array:
        patches, width = x.shape
        size = width // self._heads
        queries, keys, values = (self.attn.qkv(self.norm1(x)).reshape(patches, 3, self._heads, size)[:, part] for part in range(3))
        x = x + self.attn.proj(attend(rotate(queries, angles), rotate(keys, angles), values, size**-0.5))
        return x + self.mlp.linear_fc2(gelu(self.mlp.linear_fc1(self.norm2(x))))


def _stretching(side: int, count: int) -> mx.array:
    """Return the matrix [count, side] that interpolates linearly, with equal ends."""
    places = np.arange(count, dtype=np.float32) * np.float32(side - 1) / np.float32(max(count - 1, 1))
    return mx.array(np.maximum(1 - np.abs(places[:, None] - np.arange(side, dtype=np.float32)), 0))
