"""EAGLE-3 drafters propose as a float64 reference without a cache does, with every flag."""

import json

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.registry import make, parse
from tests.mlx_engine.conftest import GOLDEN

DRAFTER, ROWS = GOLDEN / "eagle3_2" / "drafter", 5
CONFIG = json.loads((DRAFTER / "config.json").read_text(encoding="utf-8")) | {"norm_before_residual": False}
HIDDEN, HEADS, DIM = 48, 2, 16
NORMS = {"norm_before_fc": {"input_norm": 3 * HIDDEN}, "fc_norm": {f"fc_norm.{i}": HIDDEN for i in range(3)}}


def norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * weight


def rotated(x: np.ndarray) -> np.ndarray:
    """Heads [rows, heads, D] at positions 1, 2, …"""
    angle = np.arange(1, len(x) + 1)[:, None, None] / 10_000 ** (np.arange(DIM // 2) / (DIM // 2))
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)


def proposals(weights: dict, flags: tuple[str, ...], features: np.ndarray, tokens: list[int], count: int) -> list[int]:
    """Return the tokens proposed after `tokens`. The last token has no features yet."""
    w = {name.removesuffix(".weight").replace("layers.0.", ""): np.array(array, np.float64) for name, array in weights.items()}
    taps = np.split(features.astype(np.float64), 3, axis=1)
    if "fc_norm" in flags:
        taps = [norm(tap, w[f"fc_norm.{i}"]) for i, tap in enumerate(taps)]
    joined = np.concatenate(taps, axis=1)
    g = (norm(joined, w["input_norm"]) if "norm_before_fc" in flags else joined) @ w["fc"].T
    found: list[int] = []
    while len(found) < count:
        normed = norm(g, w["hidden_norm"])
        x = np.concatenate([norm(w["embed_tokens"][tokens[1:] + found], w["input_layernorm"]), normed], axis=1)
        q, k, v = ((x @ w[f"self_attn.{name}_proj"].T).reshape(len(x), -1, DIM) for name in "qkv")
        q, k = rotated(q), rotated(k)
        scores = np.exp(np.einsum("hd,nd->hn", q[-1], k[:, 0]) / DIM**0.5)
        attended = (scores / scores.sum(axis=1, keepdims=True) @ v[:, 0]).reshape(-1)
        y = (normed if "norm_before_residual" in flags else g)[-1] + w["self_attn.o_proj"] @ attended
        h = norm(y, w["post_attention_layernorm"])
        gate = w["mlp.gate_proj"] @ h
        out = y + w["mlp.down_proj"] @ (gate / (1 + np.exp(-gate)) * (w["mlp.up_proj"] @ h))
        last = norm(out, w["norm"])
        chosen = int((w["lm_head"] @ last).argmax())
        found.append(chosen + int(w["d2t"][chosen]))
        g = np.concatenate([g, (last if "norm_output" in flags else out)[None]])
    return found


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("norm_before_residual",),
        ("norm_before_fc",),
        ("fc_norm",),
        ("norm_output",),
        ("norm_before_residual", "fc_norm", "norm_output"),
    ],
    ids=str,
)
def test_every_flag_gives_the_proposals_of_the_float64_reference(flags):
    """Also after rounds whose rejected tokens are dropped."""
    rng = np.random.default_rng(3)
    weights = dict(mx.load(str(DRAFTER / "model.safetensors")))
    for flag in flags:
        weights |= {f"{name}.weight": mx.array(rng.uniform(0.3, 2, size)) for name, size in NORMS.get(flag, {}).items()}
    if "norm_output" in flags:
        weights["norm.weight"] = mx.array(rng.uniform(0.1, 2, HIDDEN))
    weights = {name: array.astype(mx.float32) if array.dtype == mx.float64 else array for name, array in weights.items()}
    drafter = make(parse(CONFIG | dict.fromkeys(flags, True)), dict(weights), mx.float32, lambda x: x, lambda x: x)
    features = rng.normal(0, 3, (60, 3 * HIDDEN)).astype(np.float32)
    tokens: list[int] = rng.integers(0, 122, 61).tolist()
    context, at, greedy = drafter.context(), 1, Chooser(Sampling(), 0)
    drafter.inject(context, mx.array(features[:1]), mx.array(tokens[:1], mx.uint32))
    while at < 50:
        got = drafter.propose(context, mx.array(tokens[at : at + 1], mx.uint32), ROWS, greedy, None).tolist()
        assert got == proposals(weights, flags, features[:at], tokens[: at + 1], ROWS - 1)
        kept = int(rng.integers(1, ROWS + 1))
        read = [*tokens[at : at + kept], *got][:ROWS]  # rejected tokens after the kept ones
        drafter.inject(context, mx.array(features[at : at + ROWS]), mx.array(read, mx.uint32))
        context.drop(ROWS - kept)
        at += kept
