"""The config of EAGLE-3 drafters, in the layout of EAGLE or speculators."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mlx_engine.contract.limits import MAX_BLOCK_ROWS
from mlx_engine.drafters.parts.config_fields import missing, unexpected
from mlx_engine.drafters.parts.drafter_config import DrafterConfig, checked
from mlx_engine.drafters.parts.kind import DrafterKind, TokensPerRound
from mlx_engine.drafters.parts.published_fields import FULL, SLIDING, PublishedFields

_BLOCK = 8  # rows; published drafters were trained to draft up to 7 tokens
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "num_hidden_layers": (1,),
    "use_input_layernorm_in_first_layer use_last_layernorm": (True,),
    "attention_bias use_mtp_layernorm": (False,),
}
_NORMS = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")
_NESTED = {"eagle_aux_hidden_state_layer_ids": "target_layer_ids"}  # in `eagle_config`, layers are numbered like other taps


@dataclass(frozen=True, kw_only=True)
class Eagle3Config(DrafterConfig):
    """The config of an EAGLE-3 drafter, with what else it normalizes."""

    kind: ClassVar[str] = "EAGLE-3"
    vocab_size: int
    norms_residual: bool  # the features in the residual
    norms_taps: bool  # all taps together
    norms_each_tap: bool  # each tap (3.1)
    norms_output: bool  # the output that the next entry takes (3.1)

    def tapped(self, layers: int) -> tuple[int, ...]:
        return self.taps or (1, max(layers // 2 - 1, 2), max(layers - 4, 3))


def read(config: dict) -> Eagle3Config:
    nested = config.get("eagle_config")
    more = {_NESTED.get(name, name): value for name, value in nested.items()} if isinstance(nested, dict) else {}
    fields = PublishedFields(config, more={"eagle_config": more})
    common = fields.common()
    types = fields.layer_types(common["layers"])
    if SLIDING in types:
        raise unexpected("layer_types", [SLIDING], FULL)
    if common["vocab_size"] is None:
        raise missing("vocab_size")
    norms = [bool(fields.flag(name)) for name in _NORMS]
    fields.refuse_unsupported(_SUPPORTED, _NORMS)
    made = Eagle3Config(
        **common,
        block_size=fields.whole("block_size", _BLOCK, 2, MAX_BLOCK_ROWS),
        taps=fields.taps(common["layers"], common["target_layers"], needed=False),
        mask_token=fields.whole("mask_token_id", 0, least=0),
        windows=fields.windows(types),
        norms_residual=norms[0],
        norms_taps=norms[1],
        norms_each_tap=norms[2],
        norms_output=norms[3],
    )
    fields.causality(types)
    fields.number("input_embedding_scale", 1.0, above=0.0)
    return checked(made, fields)


KIND = DrafterKind(
    name=Eagle3Config.kind,
    folder="eagle3",
    read=read,
    architectures=("LlamaForCausalLMEagle3",),
    speculators="eagle3",
    speculators_architectures=("Eagle3Speculator", "Eagle3DraftModel"),
    resembles="Eagle3",
    # 2.77 for MT-bench on Llama 3.1 8B, 3.62 for HumanEval on Llama 3.3 70B (nebius/EAGLE3-Llama-3.3-70B-Instruct's card)
    tokens_per_round=TokensPerRound(chat=(2.77, 2.77), code=(3.62, 3.62)),
    chains=True,
)
