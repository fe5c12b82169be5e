"""Published speeds of drafting on Macs, and the machines and models that they were measured with.

A point is used as published: a rate as a rate, a ratio to plain decoding as a ratio, and a range by its geometric mean. If the kind
of text isn't published, the prediction is the geometric mean of those for chats and for code and math.

Left out, because the model, its size, or the machine isn't published: Ornith, GLM-5.3-Flash, Flint, Qwen3.8-Flash-Next, EAGLE-3 on
Gemma 4 31B, MTP on an unnamed Mac, mlx-swift-lm issue 606, executorch issue 20840, and all of M6. llama.cpp is left out because it
runs other kernels than MLX's.
"""

from dataclasses import dataclass
from math import prod
from typing import Literal

from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.dflash2.config import DFlash2Config
from mlx_engine.drafters.dspark.config import DSparkConfig
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse
from mlx_engine.models.library.speeds import LADDER, SpeedKind, SpeedRange, predict_speeds
from tests.hub.repos import DRAFTER

# Measured bytes and operations per second. M1 Max, M4 Max, and M5 Max: a Metal engineer's review. The others are scaled from those:
# 90% of the data sheet's bandwidth, as on these three, and operations by the number of GPU cores
_RATES = {
    "M1 Max": (340e9, 6.7e12),  # 24 of 32 cores
    "M3 Max": (360e9, 13e12),  # 40 cores, with a clock 13% below the M4's
    "M3 Ultra": (737e9, 26e12),  # 80 cores
    "M4 Pro": (246e9, 7.5e12),  # 20 cores
    "M4 Max": (490e9, 15e12),
    "M5 Pro": (276e9, 24e12),  # 16 cores, with accelerators
    "M5 Max": (560e9, 60e12),  # with accelerators
}
CHIPS = {name: MachineFacts(f"Apple {name}", "Metal", 12, 1, 1, *rates, "float16", "", "", "") for name, rates in _RATES.items()}


@dataclass(frozen=True)
class Model:
    """A target, with the number of weights that its name or config gives."""

    weights: float
    config: dict


def _hybrid(weights: float, hidden: int, layers: int, heads: int, kv_heads: int, tied: bool = False, **more: int) -> Model:
    sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads}
    delta = {"linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128}
    fixed = {"head_dim": 256, "vocab_size": 248320, "linear_conv_kernel_dim": 4, "full_attention_interval": 4}
    config = {"model_type": "qwen3_5", "tie_word_embeddings": tied, "text_config": sizes | delta | fixed | more}
    return Model(weights, config)


def _attending(weights: float, hidden: int, layers: int, heads: int, kv_heads: int, vocabulary: int, tied: bool) -> Model:
    sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads}
    return Model(weights, sizes | {"model_type": "qwen3", "head_dim": 128, "vocab_size": vocabulary, "tie_word_embeddings": tied})


_EXPERTS = {"num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512}
MODELS = {
    "Qwen3 4B": _attending(4.02e9, 2560, 36, 32, 8, 151936, True),
    "Qwen3 8B": _attending(8.19e9, 4096, 36, 32, 8, 151936, False),
    "Gemma 4 12B": _attending(12e9, 3840, 48, 16, 8, 262144, True),
    "Muse 30B": _attending(30e9, 6656, 52, 52, 4, 202048, False),
    "Qwen3.5 4B": _hybrid(4.2e9, 2560, 32, 16, 4, tied=True),
    "Qwen3.5 9B": _hybrid(8.95e9, 4096, 32, 16, 4),
    "Qwen3.x 27B": _hybrid(26.9e9, 5120, 64, 24, 4, linear_num_value_heads=48),
    "Qwen3.x 35B-A3B": _hybrid(35e9, 2048, 40, 16, 2, **_EXPERTS),
}
_BLOCK = parse({**DRAFTER, "hidden_size": 4096, "block_size": 16, "num_hidden_layers": 5})
_COMMON = {name: value for name, value in vars(_BLOCK).items() if name != "laguna"} | {"block_size": 8}
DRAFTERS: dict[str, DrafterConfig] = {
    "DFlash": _BLOCK,
    "DFlash 2": DFlash2Config(**_COMMON, kernel_rows=2, group=16, rank=256, top_k=16),
    "DSpark": DSparkConfig(**_COMMON, rank=256, confidence=0, gemma=False, neighbors=False, sinks=False),
}
# GB of the published drafters. DSpark's are taken to be as large as DFlash's for the same target
_DRAFTER_GB = {
    "Qwen3 4B": 1.07,
    "Qwen3 8B": 2.09,
    "Gemma 4 12B": 1.45,
    "Muse 30B": 5.54,
    "Qwen3.5 4B": 1.07,
    "Qwen3.5 9B": 2.09,
    "Qwen3.x 27B": 3.85,
    "Qwen3.x 35B-A3B": 0.94,
}


@dataclass(frozen=True)
class Point:
    """A published speed.

    Attributes:
        text: the kind of text; None if unknown.
        published: in tokens per second, or relative to plain decoding.
        width: rows of every round; 0 if the program chooses.
    """

    chip: str
    model: str
    bits: int
    drafter: str
    text: Literal["chat", "code"] | None
    published: float
    unit: Literal["tok/s", "×"] = "×"
    width: int = 0

    def speeds(self) -> dict[SpeedKind, SpeedRange]:
        """Return the predicted speeds, for long chats of 2,048 tokens."""
        model = MODELS[self.model]
        quantization = {"quantization": {"bits": self.bits, "group_size": 64}} if self.bits < 16 else {}
        sizes = round(model.weights * (self.bits + (0.5 if quantization else 0)) / 8), round(_DRAFTER_GB[self.model] * 1e9)
        widths = (self.width,) if self.width else LADDER
        config, drafter = {**model.config, **quantization}, DRAFTERS[self.drafter]
        return predict_speeds(CHIPS[self.chip], config, drafter, sizes, 2048, widths=widths)

    def predicted(self) -> tuple[float, float, float]:
        """Return the predicted low, middle, and high speed in the published unit."""
        speeds = self.speeds()
        kinds: tuple[SpeedKind, ...] = (self.text,) if self.text else ("chat", "code")
        values = [prod(getattr(speeds[kind], end) for kind in kinds) ** (1 / len(kinds)) for end in ("low", "middle", "high")]
        if self.unit == "×":
            values = [value / getattr(speeds["plain"], end) for value, end in zip(values, ("low", "middle", "high"), strict=True)]
        return values[0], values[1], values[2]

    @property
    def ratio(self) -> float:
        """The predicted middle over the published speed."""
        return self.predicted()[1] / self.published


def _mean(low: float, high: float) -> float:
    return (low * high) ** 0.5


_M4, _27, _35, _GEMMA = "M4 Pro", "Qwen3.x 27B", "Qwen3.x 35B-A3B", "Gemma 4 12B"
POINTS = (
    # mlx-dspark 0.20.3, README, M4 Pro 48 GB, up to 8 rows: chat, code, math
    Point(_M4, _27, 8, "DFlash 2", "chat", 3.07),
    Point(_M4, _27, 8, "DFlash 2", "code", 3.93),
    Point(_M4, _27, 8, "DFlash 2", "code", 4.23),
    Point(_M4, _27, 4, "DFlash 2", "chat", 2.05),
    Point(_M4, _27, 4, "DFlash 2", "code", 3.12),
    Point(_M4, _27, 4, "DFlash 2", "code", 3.02),
    Point(_M4, _GEMMA, 8, "DSpark", "chat", 2.62),
    Point(_M4, _GEMMA, 8, "DSpark", "code", 2.90),
    Point(_M4, _GEMMA, 8, "DSpark", "code", 4.24),
    Point(_M4, "Qwen3 8B", 8, "DSpark", "chat", 1.71),
    Point(_M4, "Qwen3 8B", 8, "DSpark", "code", 2.03),
    Point(_M4, "Qwen3 8B", 8, "DSpark", "code", 2.83),
    Point(_M4, _35, 4, "DSpark", "chat", 1.05),
    Point(_M4, _35, 4, "DSpark", "code", 1.24),
    Point(_M4, _35, 4, "DSpark", "code", 1.67),
    # The same README: 27B with DSpark, over all texts, and Gemma with DFlash
    Point(_M4, _27, 8, "DSpark", None, _mean(3.67, 3.79)),
    Point(_M4, _27, 4, "DSpark", None, _mean(2.59, 2.63)),
    Point(_M4, _GEMMA, 8, "DFlash", None, 2.1),
    # NakliTechie's dflash-mlx-bonsai2, M4 Pro 24 GB, 2-bit weights, 8 rows: chat 17 tok/s, code 1.3 to 1.5, math 1.2
    Point(_M4, _27, 2, "DFlash 2", "chat", 17, "tok/s", width=8),
    Point(_M4, _27, 2, "DFlash 2", "code", _mean(1.3, 1.5), width=8),
    Point(_M4, _27, 2, "DFlash 2", "code", 1.2, width=8),
    # mlx-vlm, pull request 2014, M5 Max 48 GB: default of 3 rows, then 3, 4, and 5 rows
    Point("M5 Max", _27, 4, "DFlash 2", None, 58.6, "tok/s", width=3),
    Point("M5 Max", _27, 4, "DFlash 2", None, 55.6, "tok/s", width=3),
    Point("M5 Max", _27, 4, "DFlash 2", None, 52.6, "tok/s", width=4),
    Point("M5 Max", _27, 4, "DFlash 2", None, 49.6, "tok/s", width=5),
    # dflash-mlx 0.1.8, README, M5 Max 64 GB. Ranges of 1k to 8k tokens of context; Qwen3.6: of prompts
    Point("M5 Max", "Qwen3.5 4B", 16, "DFlash", None, 3.40),
    Point("M5 Max", "Qwen3.5 9B", 16, "DFlash", None, _mean(2.22, 4.37)),
    Point("M5 Max", _27, 4, "DFlash", None, _mean(1.34, 2.37)),
    Point("M5 Max", _27, 4, "DFlash", None, _mean(2.95, 3.04)),
    Point("M5 Max", _35, 4, "DFlash", None, _mean(1.33, 2.2)),
    # Splash 1.0 and 1.1 (docs/performance.md; GGUF of about 4 bits on the M3 Max), coding prompts
    Point("M3 Max", _27, 4, "DFlash 2", "code", 92, "tok/s"),
    Point("M5 Pro", _35, 4, "DFlash 2", "code", 210, "tok/s"),
    Point("M3 Max", _35, 4, "DFlash 2", "code", 209, "tok/s"),
    # Rapid-MLX, issue 472, M3 Ultra
    Point("M3 Ultra", _35, 8, "DFlash", None, _mean(2.6, 3.2)),
    # z-lab/dflash, pull request 169, M3 Ultra, prose at temperature 1
    Point("M3 Ultra", "Muse 30B", 4, "DFlash", "chat", 1.18),
    # Aryagm/dflash-mlx, M4 Max; issue 2 for Qwen3.5, with whole blocks
    Point("M4 Max", "Qwen3 4B", 16, "DFlash", None, _mean(2.8, 4.1)),
    Point("M4 Max", "Qwen3.5 9B", 8, "DFlash", None, 1.39, width=16),
    Point("M4 Max", "Qwen3.5 9B", 6, "DFlash", None, 1.12, width=16),
    # mlx-dspark, issue 38, M1 Max with 24 cores: the best of all widths. Slipstream would decode plainly
    Point("M1 Max", _27, 8, "DSpark", "chat", 0.91),
)
# More than 1.6 times off, with the reason
MISSED = (
    # Splash 1.0 runs its own kernels on the M5's accelerators at 8 rows. MLX doesn't below 13 rows, and neither does Slipstream
    Point("M5 Pro", _27, 4, "DFlash 2", "code", 74, "tok/s"),
    # mlx-dspark's batching benchmark, M4 Pro, one stream. Its README has 1.72 to 2.46 for the same pair, which is 89 to 128 tok/s
    Point(_M4, "Qwen3 4B", 8, "DSpark", None, 75, "tok/s"),
)
# Found in public issues after the constants were chosen, so they show how well predictions do on new measurements
HELD_OUT = (
    # mlx-dspark, issue 8, M5 Max 64 GB: chat, code, math. mlx-vlm, pull request 1998, M5 Max 48 GB
    Point("M5 Max", _27, 8, "DSpark", "chat", 28.8, "tok/s"),
    Point("M5 Max", _27, 8, "DSpark", "code", 36.5, "tok/s"),
    Point("M5 Max", _27, 8, "DSpark", "code", 43.8, "tok/s"),
    Point("M5 Max", _27, 8, "DSpark", None, 33.6, "tok/s"),
    # dflash-mlx, issue 30, M5 Max: a Python function
    Point("M5 Max", _27, 4, "DFlash", "code", 65.2, "tok/s"),
    # Splash 1.0.1, issue 37, M3 Max: a user's short prompts. Splash itself publishes 92 and 209 for the same chip
    Point("M3 Max", _27, 4, "DFlash 2", None, 30.0, "tok/s"),
    Point("M3 Max", _35, 4, "DFlash 2", None, 98.8, "tok/s"),
    # Aryagm/dflash-mlx, issue 2, M4 Max, whole blocks
    Point("M4 Max", "Qwen3.5 4B", 16, "DFlash", None, 1.73, width=16),
    Point("M4 Max", "Qwen3.5 9B", 16, "DFlash", None, 1.67, width=16),
)
# Plain decoding, from the same sources: chip, model, bits, tokens per second
PLAIN = (
    (_M4, _27, 8, 8.2),
    (_M4, _27, 4, 14.7),
    (_M4, "Qwen3 4B", 8, 52.0),  # mlx-dspark's batching benchmark
    ("M5 Max", _27, 4, 33.4),
    ("M5 Max", _35, 8, 81.0),  # mlx-lm's server, oMLX issue 3348
)
