"""The config of DFlash drafters, and of their variants for Laguna and Muse."""

from dataclasses import dataclass
from typing import ClassVar

from mlx_engine.drafters.parts.block_config import BlockConfig, block_fields
from mlx_engine.drafters.parts.drafter_config import checked
from mlx_engine.drafters.parts.kind import DrafterKind, TokensPerRound
from mlx_engine.drafters.parts.published_fields import PublishedFields

_LAGUNA, _MUSE = "DFlashLagunaForCausalLM", "MuseGlimmerAssistantModel"


@dataclass(frozen=True, kw_only=True)
class DFlashConfig(BlockConfig):
    """The config of a DFlash drafter."""

    kind: ClassVar[str] = "DFlash"
    laguna: bool = False  # a norm per tap, context through each layer's input norm, gated heads

    @property
    def tunable(self) -> bool:
        return not self.laguna and self.draft_vocab_size is None


def read(config: dict) -> DFlashConfig:
    fields = PublishedFields(config)
    laguna = _LAGUNA in fields.architectures
    block = block_fields(fields, usual=False if _MUSE in fields.architectures else None)
    fields.refuse_unsupported({"gating": ("per-head", True)} if laguna else None)
    return checked(DFlashConfig(**block, laguna=laguna), fields)


KIND = DrafterKind(
    name=DFlashConfig.kind,
    folder="dflash",
    read=read,
    architectures=("DFlashDraftModel", _LAGUNA, _MUSE),
    speculators="dflash",
    speculators_architectures=("DFlashSpeculator", "DFlashDraftModel"),
    resembles="DFlash",
    # Chat: prose of a 4-bit Muse at temperature 1 (z-lab/dflash, pull request 169); MT-Bench on Qwen3-4B (the hub's
    # seliny2/qwen3-4b-dflash-data). Code and math: GSM8K on Qwen3.5-4B (speculators, pull request 1014); MATH500 on Qwen3-4B
    tokens_per_round=TokensPerRound(chat=(2.96, 3.43), code=(4.99, 8.24)),
)
