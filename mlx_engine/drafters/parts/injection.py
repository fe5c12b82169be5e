"""Features of the target, turned into keys and values of all layers."""

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.layer import Multiply
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.rope import Rotation
from mlx_engine.drafters.parts.row_packing import pack, unpack
from mlx_engine.drafters.parts.tensors import Tensors
from mlx_engine.kernels.operations import PLAIN, Operations


@dataclass(frozen=True)
class Injected:
    """Weights that turn fused features into a layer's keys and values."""

    keys_values: Matrix
    bias: mx.array | None
    key_norm: mx.array  # [D]


@dataclass(frozen=True)
class FeatureFusion:
    """Weights that fuse a position's features.

    Attributes:
        matrix: [H, size of the features].
        norm: RMSNorm weight of the fused features, [H].
        tap_norms: RMSNorm weights of the taps, [taps, H]; None without.
        again: whether the fused features pass another norm, whose weights are folded into the matrices after it.
    """

    matrix: Matrix
    norm: mx.array
    tap_norms: mx.array | None = None
    again: bool = False

    @classmethod
    def take(
        cls, tensors: Tensors, config: DrafterConfig, tap_norms: mx.array | None = None, again: bool = False
    ) -> "FeatureFusion":
        matrix = tensors.matrix("fc", config.hidden_size, len(config.taps) * config.hidden_size)
        return cls(matrix, tensors.take("hidden_norm.weight", config.hidden_size), tap_norms, again)

    def __call__(self, features: mx.array, eps: float, multiply: Multiply) -> mx.array:
        if self.tap_norms is not None:
            taps = mx.fast.rms_norm(features.reshape(-1, *self.tap_norms.shape), None, eps) * self.tap_norms
            features = taps.reshape(features.shape)
        fused = mx.fast.rms_norm(self.matrix(features, multiply), self.norm, eps)
        return mx.fast.rms_norm(fused, None, eps) if self.again else fused


class Injection:
    """Turns features into keys and values, by groups of layers.

    Layers with the same window form a group, which is extended in one step.

    Args:
        tensors: the drafter's tensors, which are freed.
        windows: per layer.
        fusion: fuses the features.
        injected: per layer.
        rotation: rotates keys.
        eps: of all norms.
        normalizes_values: whether values pass a norm, too.
    """

    def __init__(
        self,
        tensors: Tensors,
        windows: Sequence[int | None],
        fusion: FeatureFusion,
        injected: Sequence[Injected],
        rotation: Rotation,
        eps: float,
        normalizes_values: bool = False,
    ) -> None:
        self.fusion, self._rotation, self._eps, self._normalizes_values = fusion, rotation, eps, normalizes_values
        self._windows = tuple(windows)
        self._groups = {w: [i for i, window in enumerate(windows) if window == w] for w in dict.fromkeys(windows)}
        order = [injected[i] for members in self._groups.values() for i in members]
        self._matrix = order[0].keys_values.concatenated(*(one.keys_values for one in order[1:]))
        biases = [one.bias for one in order if one.bias is not None]
        self._bias = mx.concatenate(biases) if biases else None
        self._key_norms = {w: mx.stack([injected[i].key_norm for i in members]) for w, members in self._groups.items()}
        self._slot = {i: slot for members in self._groups.values() for slot, i in enumerate(members)}
        tensors.settle(self._matrix.arrays)

    def keys_values(
        self, features: mx.array, start: int | mx.array, operations: Operations = PLAIN, multiply: Multiply = None
    ) -> dict[int | None, mx.array]:
        """Return keys and values [2, L, H, S, D] by window for features [S, F]."""
        return self._turned(self._projected(features, multiply), start, operations)

    def _projected(self, features: mx.array, multiply: Multiply) -> mx.array:
        """Return the projections [S, L, 2, H, D] of features [S, F]."""
        fused = self.fusion(features, self._eps, multiply)
        projected = self._matrix(fused, multiply)
        if self._bias is not None:
            projected = projected + self._bias
        dim = 2 * self._rotation.frequencies.size
        return projected.reshape(features.shape[0], len(self._windows), 2, -1, dim)

    def _turned(self, projected: mx.array, start: int | mx.array, operations: Operations) -> dict[int | None, mx.array]:
        """Return one stream's keys and values by window."""
        rotation, done, found = (self._rotation.frequencies, start, self._eps, self._rotation.scale), 0, {}
        for window, members in self._groups.items():
            own = projected[:, done : done + len(members)]
            both = operations.kv_injection(own, self._key_norms[window], *rotation)
            found[window] = normalized_values(both, self._eps) if self._normalizes_values else both
            done += len(members)
        return found

    def inject(
        self, contexts: Sequence[DraftContext], features: Sequence[mx.array], operations: Operations, multiply: Multiply
    ) -> None:
        """Append the features [S, F] of the next S positions to each context."""
        rows = [own.shape[0] for own in features]
        projected = unpack(self._projected(pack(features), multiply), rows)
        for context, own, count in zip(contexts, projected, rows, strict=True):
            for window, keys_values in self._turned(own, context.start, operations).items():
                context.kinds[window].append(keys_values)
            context.advance(count)

    def held(self, context: DraftContext, layer: int) -> tuple[mx.array, mx.array] | None:
        """Return the keys and values that a layer attends to."""
        return context.kinds[self._windows[layer]].layer(self._slot[layer])

    def held_by_layer(self, features: mx.array) -> list[tuple[mx.array, mx.array]]:
        """Return keys and values [N, H, S, D] by layer for features [N, S, F]."""
        sequences = [self.keys_values(one, 0) for one in features]
        stacked = {window: mx.stack([one[window] for one in sequences], axis=2) for window in self._groups}  # [2, L, N, ..]
        return [(stacked[window][0, self._slot[i]], stacked[window][1, self._slot[i]]) for i, window in enumerate(self._windows)]


def normalized_values(keys_values: mx.array, eps: float) -> mx.array:
    """Return keys and values [2, L, H, S, D] with normalized values."""
    return mx.concatenate([keys_values[:1], mx.fast.rms_norm(keys_values[1:], None, eps)])
