"""A DFlash drafter in numpy and float64, from the description in tests/golden/README.md; for Laguna, from vLLM's reader.

It keeps no cache: every call computes keys and values of the whole context again. Tensors by their z-lab names.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Reference:
    """Weights are [out, in]. `windows` and `causal` have one entry per layer."""

    weights: dict[str, np.ndarray]
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    theta: float
    windows: tuple[int | None, ...]
    causal: tuple[bool, ...]
    laguna: bool = False
    groups: int = 0  # of DFlash 2's convolutions; 0 for none
    sinks: bool = False
    taps: int = field(init=False)

    def __post_init__(self) -> None:
        self.weights = {name: np.asarray(array, np.float64) for name, array in self.weights.items()}
        hidden = self.weights["norm.weight"].size
        self.taps = self.weights["fc.weight"].shape[1] // hidden

    def hidden(self, features: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Final hidden states [B - 1, H] after context features [S, taps * H], for embeddings [B, H] of anchor and masks."""
        w, x = self.weights, np.asarray(block, np.float64)
        features = np.asarray(features, np.float64)
        if self.laguna:
            parts = np.split(features, self.taps, axis=1)
            features = np.concatenate([self._norm(part, f"aux_hidden_norms.{i}") for i, part in enumerate(parts)], axis=1)
        context = self._norm(features @ w["fc.weight"].T, "hidden_norm")
        for i in range(len(self.windows)):
            at = f"layers.{i}."
            h = self._norm(x, at + "input_layernorm")
            kernels = self._kernels(at + "attention_conv", h)
            x = x + self._convolve(kernels, 1, self._attention(i, self._convolve(kernels, 0, h), context))
            h = self._norm(x, at + "post_attention_layernorm")
            kernels = self._kernels(at + "mlp_conv", h)
            y = self._convolve(kernels, 0, h)
            gate, up = (y @ w[f"{at}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
            x = x + self._convolve(kernels, 1, (gate / (1 + np.exp(-gate)) * up) @ w[at + "mlp.down_proj.weight"].T)
        return self._norm(x, "norm")[1:]

    def _attention(self, layer: int, h: np.ndarray, context: np.ndarray) -> np.ndarray:
        w, at, rows = self.weights, f"layers.{layer}.self_attn.", len(context)
        if self.laguna:
            context = self._norm(context, f"layers.{layer}.input_layernorm")
        position = np.arange(rows + len(h))
        q = self._heads(h, at + "q", self.heads, position[rows:])
        k = self._heads(np.concatenate([context, h]), at + "k", self.kv_heads, position)
        v = np.concatenate([context, h]) @ w[at + "v_proj.weight"].T + w.get(at + "v_proj.bias", 0)
        v = v.reshape(-1, self.kv_heads, self.head_dim)
        distance = position[rows:, None] - position[None]
        visible = np.ones(distance.shape, bool)
        if self.causal[layer]:
            visible &= distance >= 0
        window = self.windows[layer]
        if window is not None:
            visible &= distance < window
        out = []
        for head in range(self.heads):
            shared = head * self.kv_heads // self.heads
            scores = np.where(visible, q[:, head] @ k[:, shared].T / np.sqrt(self.head_dim), -np.inf)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            sink = np.exp(w[at + "attention_sink_bias"][head] - scores.max(axis=1, keepdims=True)) if self.sinks else 0
            out.append(weights / (weights.sum(axis=1, keepdims=True) + sink) @ v[:, shared])
        joined = np.stack(out, axis=1)
        if self.laguna:
            joined = joined * np.log1p(np.exp(h @ w[at + "g_proj.weight"].T))[:, :, None]
        return joined.reshape(len(h), -1) @ w[at + "o_proj.weight"].T + w.get(at + "o_proj.bias", 0)

    def _heads(self, x: np.ndarray, name: str, count: int, position: np.ndarray) -> np.ndarray:
        """Projected, normalised and rotated heads [rows, count, D]."""
        y = x @ self.weights[name + "_proj.weight"].T + self.weights.get(name + "_proj.bias", 0)
        y = self._norm(y.reshape(-1, count, self.head_dim), name + "_norm")
        half = self.head_dim // 2
        angle = (position[:, None] / self.theta ** (np.arange(half) / half))[:, None]
        a, b = y[..., :half], y[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self.eps) * self.weights[name + ".weight"]

    def _kernels(self, name: str, h: np.ndarray) -> np.ndarray | None:
        """[rows, 2, taps, H], or None without convolutions."""
        if not self.groups:
            return None
        base = self.weights[name + ".base_kernel"]
        dynamic = (h @ self.weights[name + ".kernel_projection.weight"].T).reshape(len(h), 2, base.shape[1], self.groups)
        return base[None] + np.repeat(dynamic, base.shape[2] // self.groups, axis=-1)

    @staticmethod
    def _convolve(kernels: np.ndarray | None, side: int, h: np.ndarray) -> np.ndarray:
        if kernels is None:
            return h
        out = np.zeros_like(h)
        for row in range(len(h)):
            for tap in range(min(kernels.shape[2], row + 1)):
                out[row] += kernels[row, side, tap] * h[row - tap]
        return out
