"""The target (Qwen3) and the drafter (DFlash v1) in torch, small enough for two CPU cores."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .tokenizer import END, MASK, MAX_POSITIONS, VOCAB

BLOCK = 16
TAPS = (1, 3, 5)


@dataclass(frozen=True)
class Shape:
    """Sizes of the target. The drafter's differ in `intermediate_size`."""

    hidden_size: int = 320
    num_hidden_layers: int = 8
    intermediate_size: int = 1536
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    vocab_size: int = VOCAB
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    max_position_embeddings: int = MAX_POSITIONS

    def target_config(self) -> dict[str, Any]:
        """Return config.json of the target."""
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            **asdict(self),
            "tie_word_embeddings": True,
            "attention_bias": False,
            "hidden_act": "silu",
            "eos_token_id": END,
            "torch_dtype": "bfloat16",
        }

    def drafter_config(self, layers: int) -> dict[str, Any]:
        """Return config.json of the drafter in the published layout."""
        return {
            "architectures": ["DFlashDraftModel"],
            "model_type": "qwen3",
            **asdict(self),
            "num_hidden_layers": layers,
            "num_target_layers": self.num_hidden_layers,
            "block_size": BLOCK,
            "rope_scaling": None,
            "tie_word_embeddings": True,
            "attention_bias": False,
            "attention_dropout": 0.0,
            "hidden_act": "silu",
            "layer_types": ["full_attention"] * layers,
            "use_sliding_window": False,
            "sliding_window": None,
            "dflash_config": {"target_layer_ids": list(TAPS), "mask_token_id": MASK},
            "eos_token_id": END,
            "torch_dtype": "bfloat16",
        }


class Norm(nn.Module):
    """RMS norm."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), 1e-6)


def rotary(length: int, size: int, base: float) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines of every position."""
    inverse = base ** (-torch.arange(0, size, 2).float() / size)
    angles = torch.arange(length).float()[:, None] * inverse
    return torch.cos(angles), torch.sin(angles)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the two halves of each head."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


Rotation = tuple[Tensor, Tensor]


class Attention(nn.Module):
    """Grouped-query attention with normalized heads. A context's keys and values come first (DFlash)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        hidden, size = shape.hidden_size, shape.head_dim
        self.heads, self.groups, self.size = shape.num_attention_heads, shape.num_key_value_heads, size
        self.q_proj = nn.Linear(hidden, self.heads * size, bias=False)
        self.k_proj = nn.Linear(hidden, self.groups * size, bias=False)
        self.v_proj = nn.Linear(hidden, self.groups * size, bias=False)
        self.o_proj = nn.Linear(self.heads * size, hidden, bias=False)
        self.q_norm = Norm(size)
        self.k_norm = Norm(size)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:2], heads, self.size)

    def _keys(self, x: Tensor, at: Rotation) -> tuple[Tensor, Tensor]:
        keys = rotate(self.k_norm(self._split(self.k_proj(x), self.groups)).transpose(1, 2), *at)
        return keys, self._split(self.v_proj(x), self.groups).transpose(1, 2)

    def _repeat(self, x: Tensor) -> Tensor:
        batch, groups, length, size = x.shape
        wide = x[:, :, None].expand(batch, groups, self.heads // groups, length, size)
        return wide.reshape(batch, self.heads, length, size)

    def forward(
        self,
        x: Tensor,
        at: Rotation,
        context: Tensor | None = None,
        context_at: Rotation | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        queries = rotate(self.q_norm(self._split(self.q_proj(x), self.heads)).transpose(1, 2), *at)
        keys, values = self._keys(x, at)
        if context is not None and context_at is not None:
            before, those = self._keys(context, context_at)
            keys, values = torch.cat([before, keys], 2), torch.cat([those, values], 2)
        out = F.scaled_dot_product_attention(
            queries, self._repeat(keys), self._repeat(values), attn_mask=mask, is_causal=mask is None
        )
        return self.o_proj(out.transpose(1, 2).reshape(*x.shape[:2], -1))


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """One layer of either model."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = Norm(shape.hidden_size)
        self.post_attention_layernorm = Norm(shape.hidden_size)

    def forward(
        self,
        x: Tensor,
        at: Rotation,
        context: Tensor | None = None,
        context_at: Rotation | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), at, context, context_at, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


def initialize(model: nn.Module) -> None:
    """Draw normal weights; those that write to the residual stream are smaller."""
    for name, weight in model.named_parameters():
        if weight.dim() == 2:
            small = 0.3 if "o_proj" in name or "down_proj" in name else 1.0
            scale = 0.02 if "embed" in name else 0.7 * small / math.sqrt(weight.shape[1])
            nn.init.normal_(weight, std=scale)


class _Inner(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(shape.num_hidden_layers)])
        self.norm = Norm(shape.hidden_size)


class Target(nn.Module):
    """Qwen3, with tied embeddings."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.model = _Inner(shape)
        cos, sin = rotary(shape.max_position_embeddings, shape.head_dim, shape.rope_theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        initialize(self)

    @property
    def precision(self) -> torch.dtype:
        """bfloat16 under autocast, as in training; float32 otherwise."""
        return torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32

    def embed(self, ids: Tensor) -> Tensor:
        """Return token embeddings."""
        return self.model.embed_tokens(ids).to(self.precision)

    def at(self, positions: Tensor) -> Rotation:
        """Return the rotation of these positions."""
        return self.cos[positions].to(self.precision), self.sin[positions].to(self.precision)

    def forward(self, ids: Tensor, taps: tuple[int, ...] = ()) -> tuple[Tensor, list[Tensor]]:
        """Return the last hidden states, and those after the tapped layers."""
        x = self.embed(ids)
        at = self.at(torch.arange(ids.shape[1]))
        tapped: list[Tensor] = []
        for i, layer in enumerate(self.model.layers):
            x = layer(x, at)
            if i in taps:
                tapped.append(x)
        return self.model.norm(x), tapped

    def logits(self, hidden: Tensor) -> Tensor:
        """Return next-token logits."""
        return F.linear(hidden, self.model.embed_tokens.weight.to(self.precision)).float()


class Drafter(nn.Module):
    """DFlash v1: the target's tapped states enter every layer as keys and values."""

    def __init__(self, shape: Shape, layers: int) -> None:
        super().__init__()
        self.fc = nn.Linear(len(TAPS) * shape.hidden_size, shape.hidden_size, bias=False)
        self.hidden_norm = Norm(shape.hidden_size)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(layers)])
        self.norm = Norm(shape.hidden_size)
        initialize(self)

    def forward(self, x: Tensor, tapped: Tensor, at: Rotation, context_at: Rotation, mask: Tensor) -> Tensor:
        context = self.hidden_norm(self.fc(tapped))
        for layer in self.layers:
            x = layer(x, at, context, context_at, mask)
        return self.norm(x)
