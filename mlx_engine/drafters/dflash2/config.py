"""The config of DFlash 2 drafters."""

from dataclasses import dataclass
from typing import ClassVar

from mlx_engine.drafters.parts.block_config import BlockConfig, block_fields
from mlx_engine.drafters.parts.config_fields import contradiction, missing
from mlx_engine.drafters.parts.drafter_config import checked
from mlx_engine.drafters.parts.kind import DrafterKind, TokensPerRound
from mlx_engine.drafters.parts.published_fields import PublishedFields


@dataclass(frozen=True, kw_only=True)
class DFlash2Config(BlockConfig):
    """The config of a DFlash 2 drafter."""

    kind: ClassVar[str] = "DFlash 2"
    vocab_size: int
    kernel_rows: int  # block rows per kernel of the convolutions
    group: int  # channels that share a dynamic kernel
    rank: int  # of the selector's edges between neighboring tokens
    top_k: int  # likeliest tokens per row that the selector chooses from

    @property
    def tunable(self) -> bool:
        return True


def read(config: dict) -> DFlash2Config:
    fields = PublishedFields(config)
    block = block_fields(fields, usual=False if fields.speculators else None)
    kernel_rows, group, rank, top_k = map(fields.whole, ("conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"))
    if block["vocab_size"] is None:
        raise missing("vocab_size")
    if block["hidden_size"] % group:
        raise contradiction("hidden_size", block["hidden_size"], "conv_group_size", group)
    for name, value in (("draft_vocab_size", block["draft_vocab_size"]), ("selector_top_k", top_k)):
        if value is not None and (name == "draft_vocab_size" or value > block["vocab_size"]):
            raise contradiction(name, value, "vocab_size", block["vocab_size"])
    fields.refuse_unsupported()
    return checked(DFlash2Config(**block, kernel_rows=kernel_rows, group=group, rank=rank, top_k=top_k), fields)


KIND = DrafterKind(
    name=DFlash2Config.kind,
    folder="dflash2",
    read=read,
    architectures=("DFlash2DraftModel",),
    speculators="dflash2",
    speculators_architectures=("DFlash2Speculator", "DFlash2DraftModel"),
    resembles="DFlash",
    # Chat: Alpaca and Arena-Hard on Qwen3-4B (AQ-MedAI/Qwen3-4B-DSpark's card, which compares both). Code and math: LiveCodeBench
    # on Qwen3-4B (the same card); MATH500 on Qwen3.5-4B (speculators, pull request 1014)
    tokens_per_round=TokensPerRound(chat=(2.50, 4.18), code=(4.58, 6.76)),
    accepts_more=True,
    overflows=True,
)
