"""What all drafters' configs have, and how published fields are read.

Publishers lay out the fields differently and revise checkpoints in place. So everything is read from the file, and nothing depends
on a repo's name. The field rules follow z-lab's dflash 0.1.0, the loaders in vLLM and speculators, and published configs.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from mlx_engine.drafters.parts.config_fields import ConfigFields, contradiction, missing, unexpected
from mlx_engine.drafters.parts.rope_config import RopeConfig

MOST_LAYERS = 512


@dataclass(frozen=True)
class StoredFormat:
    """The quantization of published weights, in MLX's affine scheme."""

    bits: int
    group: int
    exceptions: dict[str, tuple[int, int]]  # module -> bits, group


@dataclass(frozen=True, kw_only=True)
class DrafterConfig:
    """The validated config of a drafter. Each kind adds its own fields."""

    kind: ClassVar[str]  # name
    reads_target_keys: ClassVar[bool] = False  # whether it attends to the target's keys and values
    taps_norm: ClassVar[bool] = False  # whether a tap may be the target's final norm, which has the number after the last layer's

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int | None  # of the target; None if unknown
    draft_vocab_size: int | None = None  # if the drafter proposes only some of the target's tokens
    norm_eps: float
    rope: RopeConfig
    block_size: int  # most rows of a verify: the anchor and all proposals
    taps: tuple[int, ...] = ()  # 0-based target layers whose outputs are the context features; see `tapped`
    target_layers: int | None = None  # number of target layers
    mask_token: int = 0
    windows: tuple[int | None, ...]  # per layer: query position - key position < window; None: full attention
    output_multiplier: float = 1.0
    softcap: float | None = None
    stored: StoredFormat | None = None

    def tapped(self, layers: int) -> tuple[int, ...]:
        """Return the taps in a target with this number of layers."""
        return self.taps

    def row(self, window: int | None) -> int:
        """Return the number of keys and values per token in a layer with this window."""
        return 2 * self.kv_heads * self.head_dim

    @property
    def injected(self) -> int:
        """The number of weights that turn features into keys and values."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.hidden_size

    @property
    def used_share(self) -> float:
        """The share of the weights that a draft reads."""
        return 1.0

    @property
    def tunable(self) -> bool:
        """Whether the drafter can be trained."""
        return False

    @property
    def confident(self) -> bool:
        """Whether the drafter estimates if its proposals are accepted."""
        return False

    @property
    def windowed(self) -> bool:
        """Whether every layer sees only a window of the context."""
        return None not in self.windows


C = TypeVar("C", bound=DrafterConfig)


def sizes(fields: ConfigFields) -> dict[str, Any]:
    """Return the sizes that all kinds have, as arguments of `DrafterConfig`."""
    layers, heads = fields.whole("num_hidden_layers", most=MOST_LAYERS), fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    return {
        "hidden_size": hidden,
        "intermediate_size": fields.whole("intermediate_size"),
        "layers": layers,
        "heads": heads,
        "kv_heads": fields.whole("num_key_value_heads", heads),
        "head_dim": fields.whole("head_dim", max(hidden // heads, 1)),
        "vocab_size": fields.optional("vocab_size"),
        "norm_eps": fields.number("rms_norm_eps", above=0.0),
        "stored": _stored(fields),
    }


def _stored(fields: ConfigFields) -> StoredFormat | None:
    block, other = fields.block("quantization"), fields.block("quantization_config")
    if not block:
        if other and ("quant_method" in other or "bits" not in other):
            raise unexpected("quantization_config", other.get("quant_method"), "MLX")
        block = other
    if not block:
        return None
    if block.get("mode") not in (None, "affine"):
        raise unexpected("quantization", block["mode"], "affine")

    def width(settings: dict) -> tuple[int, int]:
        bits, group = settings.get("bits"), settings.get("group_size")
        if bits not in (2, 3, 4, 5, 6, 8) or group not in (32, 64, 128):
            raise unexpected("quantization", [bits, group], "bits 2–6, 8; group_size 32, 64, 128")
        return bits, group

    bits, group = width(block)
    return StoredFormat(bits, group, {name: width(value) for name, value in block.items() if isinstance(value, dict)})


def checked(config: C, fields: ConfigFields) -> C:
    """Return a config without contradictions and unknown fields.

    Raises:
        UserError: they do, or `fields` has one that could affect the computation and wasn't read.
    """
    c = config
    if c.heads % c.kv_heads:
        raise contradiction("num_attention_heads", c.heads, "num_key_value_heads", c.kv_heads)
    if c.head_dim % 2:
        raise unexpected("head_dim", c.head_dim, "2, 4, 6, …")
    window = min((window for window in c.windows if window is not None), default=c.block_size)
    if window < c.block_size:
        raise contradiction("sliding_window", window, "block_size", c.block_size)
    if c.vocab_size is None and c.draft_vocab_size is not None:
        raise missing("vocab_size")
    if c.vocab_size is not None and c.mask_token >= c.vocab_size:
        raise contradiction("mask_token_id", c.mask_token, "vocab_size", c.vocab_size)
    if c.draft_vocab_size is not None and c.draft_vocab_size > (c.vocab_size or 0):
        raise contradiction("draft_vocab_size", c.draft_vocab_size, "vocab_size", c.vocab_size)
    fields.refuse_unread()
    return config
