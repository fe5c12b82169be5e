"""The config of DSpark drafters, in all published layouts.

The layouts are those of DeepSpec, speculators, SpecForge, LiquidAI, and NVIDIA.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mlx_engine.drafters.parts.block_config import BlockConfig, block_fields
from mlx_engine.drafters.parts.config_fields import missing
from mlx_engine.drafters.parts.drafter_config import checked
from mlx_engine.drafters.parts.kind import DrafterKind, TokensPerRound
from mlx_engine.drafters.parts.published_fields import FULL, PublishedFields, architectures

_GEMMA, _LFM = "Gemma4DSparkModel", "Lfm2DSparkDraftModel"
_NAMES = ("Qwen3DSparkModel", _GEMMA, "DSparkDraftModel", _LFM)
_WINDOW = 4096  # positions that full-attention layers read, because acceptance falls in longer contexts
_LFM_RANK = 256  # of the Markov head, unless the config sets it
# Other fields that the trainer copies from the target have no effect
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "markov_head_type": ("vanilla",),
    "log_snr_conditioning enable_qwen35_gated_q_proj dspark_backbone_conv_enabled": (False,),
    "attention_mode": ("gqa", "mha"),
    "projector_type": ("dspark",),
    "hidden_activation": ("gelu_pytorch_tanh",),
}
_EXEMPT = frozenset("enable_confidence_head markov_rank partial_rotary_factor rope_is_neox_style attention_sink_bias".split())


@dataclass(frozen=True, kw_only=True)
class DSparkConfig(BlockConfig):
    """The config of a DSpark drafter."""

    kind: ClassVar[str] = "DSpark"
    vocab_size: int
    rank: int  # of the Markov head
    confidence: int  # inputs of the confidence head; 0 without one
    gemma: bool  # Gemma's layers: four norms, scaled outputs, normalized values
    neighbors: bool  # whether RoPE rotates pairs of neighboring columns, not columns half a head apart
    sinks: bool  # whether attention has one sink per head

    @property
    def confident(self) -> bool:
        return self.confidence > 0


def read(config: dict) -> DSparkConfig:
    gemma = _GEMMA in architectures(config)
    fields = PublishedFields(_plain_gemma(config) if gemma else config, strict=not set(_NAMES).intersection(architectures(config)))
    block = block_fields(fields, None, _first_row(fields), "proportional" if gemma else "", copied=True)
    if block["vocab_size"] is None:
        raise missing("vocab_size")
    rank = fields.whole("markov_rank", _LFM_RANK if _LFM in fields.architectures else None)
    reads_token = fields.flag("confidence_head_with_markov", True)
    made = DSparkConfig(
        **block,
        rank=rank,
        confidence=block["hidden_size"] + (rank if reads_token else 0) if fields.flag("enable_confidence_head", True) else 0,
        gemma=gemma,
        neighbors=fields.flag("rope_is_neox_style") is False,
        sinks=fields.flag("attention_sink_bias") is True,
    )
    fields.refuse_unsupported(_SUPPORTED, _EXEMPT)
    return checked(replace(made, windows=tuple(window or _WINDOW for window in made.windows)), fields)


def _plain_gemma(config: dict) -> dict:
    """Return a Gemma DSpark config with the usual names of its fields."""
    rope = config.get("rope_parameters")
    heads = config.get("num_global_key_value_heads") if config.get("attention_k_eq_v") else None
    plain = {"head_dim": "global_head_dim", "num_key_value_heads": "num_global_key_value_heads" if heads else "num_key_value_heads"}
    full = rope.get(FULL) if isinstance(rope, dict) else None
    return {**config, **{name: config.get(source) for name, source in plain.items()}, "rope_parameters": full, "rope_theta": None}


def _first_row(fields: PublishedFields) -> int:
    """Return the first row that proposes a token."""
    if (explicit := fields.flag("sample_from_anchor")) is not None or not fields.speculators:
        return 0 if explicit in (None, True) else 1
    # Older configs tell it only by the number of proposals
    methods = fields.block("speculators_config").get("proposal_methods")
    count = methods[0].get("speculative_tokens") if isinstance(methods, list) and methods and isinstance(methods[0], dict) else None
    return 0 if count == fields.get("block_size") else 1


KIND = DrafterKind(
    name=DSparkConfig.kind,
    folder="dspark",
    read=read,
    architectures=_NAMES,
    speculators="dspark",
    speculators_architectures=("DSparkSpeculator", "DSparkDraftModel"),
    resembles="DSpark",
    # Chat: Avesed/Qwen3.6-27B-DSpark's card; MT-Bench on Qwen3-4B (AQ-MedAI/Qwen3-4B-DSpark's card). Code and math: DeepSeek's
    # drafter for Qwen3-8B at temperature 1 (Dogacel/Qwen3-8B-DSpark's card); GSM8K on Qwen3.6 27B (Avesed's card)
    tokens_per_round=TokensPerRound(chat=(2.54, 4.21), code=(3.41, 6.55)),
)
