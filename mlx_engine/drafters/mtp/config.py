"""The config of an MTP head: that of its target, alone or nested in a converter's."""

from dataclasses import dataclass
from typing import ClassVar

from mlx_engine.drafters.parts.config_fields import ConfigFields, contradiction, missing
from mlx_engine.drafters.parts.drafter_config import DrafterConfig, checked, sizes
from mlx_engine.drafters.parts.kind import DrafterKind, TokensPerRound
from mlx_engine.drafters.parts.rope_config import read_rope

_OWNERS = ("qwen3_5", "qwen3_5_moe", "qwen3_next", "qwen3_5_mtp")
_BLOCK = 8  # most rows of a verify; drafts form a chain of any length, and the width follows their acceptance


@dataclass(frozen=True)
class Experts:
    """The experts of an MTP head, besides the shared one of size `intermediate_size`."""

    count: int
    chosen: int  # per row
    size: int  # intermediate
    normalized: bool  # whether the weights of the chosen ones add up to 1


@dataclass(frozen=True, kw_only=True)
class MtpConfig(DrafterConfig):
    """The config of an MTP head: one layer after the target's final norm."""

    kind: ClassVar[str] = "MTP"
    taps_norm: ClassVar[bool] = True
    experts: Experts | None = None

    @property
    def used_share(self) -> float:
        return self.experts.chosen / self.experts.count if self.experts else 1.0


def may_have_mtp(config: dict) -> bool:
    """Return whether a config.json belongs to a family with MTP heads."""
    return config.get("model_type") in _OWNERS


def read(config: dict) -> MtpConfig:
    inner = config.get("text_config")
    text = {**config, **inner} if isinstance(inner, dict) else config
    fields = ConfigFields({"config.json": text})
    for name, supported in {
        "hidden_act": "silu",
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "attention_bias": False,
        "attn_output_gate": True,
    }.items():
        fields.must_be(name, supported)
    target_layers, rope = fields.optional("num_hidden_layers"), fields.block("rope_parameters")
    if target_layers is None:
        raise missing("num_hidden_layers")
    if fields.block("rope_scaling"):
        raise contradiction("rope_scaling", text["rope_scaling"], "model_type", text["model_type"])
    experts = _experts(fields)
    own = {
        "num_hidden_layers": 1,
        "intermediate_size": fields.get("shared_expert_intermediate_size" if experts else "intermediate_size"),
        "rope_parameters": {
            "rope_type": "partial" if rope.get("rope_type") in (None, "default") else rope["rope_type"],
            "rope_theta": rope.get("rope_theta", text.get("rope_theta")),
            "partial_rotary_factor": rope.get("partial_rotary_factor", text.get("partial_rotary_factor", 0.25)),
        },
    }
    same = "hidden_size num_attention_heads num_key_value_heads head_dim vocab_size rms_norm_eps quantization quantization_config"
    fields = ConfigFields({"config.json": {**{name: text.get(name) for name in same.split()}, **own}})
    made = MtpConfig(
        **sizes(fields),
        rope=read_rope(fields, "partial"),
        block_size=_BLOCK,
        taps=(target_layers,),
        target_layers=target_layers,
        windows=(None,),
        experts=experts,
    )
    return checked(made, fields)


def _experts(fields: ConfigFields) -> Experts | None:
    if not (count := fields.whole("num_experts", 0, least=0)):
        return None
    chosen, size = fields.whole("num_experts_per_tok", most=count), fields.whole("moe_intermediate_size")
    return Experts(count, chosen, size, fields.flag("norm_topk_prob", fields.get("model_type") != "qwen3_next") is True)


KIND = DrafterKind(
    name=MtpConfig.kind,
    folder="mtp",
    read=read,
    recognizes=may_have_mtp,
    # Chat: 1.89 with two drafts (Qwen3.5-4B in MTPLX), which is 2.29 with seven. Code and math: GSM8K and MATH500 on Qwen3.5-4B
    # (speculators, pull request 1014)
    tokens_per_round=TokensPerRound(chat=(2.29, 2.29), code=(4.78, 5.04)),
    chains=True,
    renames=True,
)
