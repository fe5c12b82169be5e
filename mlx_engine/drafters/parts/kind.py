"""What is known about a kind of drafter before one is loaded."""

from collections.abc import Callable
from dataclasses import dataclass

from mlx_engine.drafters.parts.drafter_config import DrafterConfig


@dataclass(frozen=True)
class TokensPerRound:
    """The lowest and highest published tokens per round, by kind of text.

    Only means over many prompts count, with the drafter's whole block.
    """

    chat: tuple[float, float]
    code: tuple[float, float]  # and math


@dataclass(frozen=True)
class DrafterKind:
    """A kind of drafter, in a folder with `config`, `model`, and often `tensors`.

    Attributes:
        name: as published and shown.
        folder: package of the kind.
        read: reads a config.json of the kind; raises UserError.
        architectures: names in config.json.
        speculators: name in the speculators library.
        speculators_architectures: names in config.json that go with it.
        recognizes: whether a config.json without such names is of this kind.
        resembles: part of the names of this and similar kinds, supported or not; empty for none.
        tokens_per_round: published ones; None if too little is published for predictions.
        chains: whether it drafts token by token.
        accepts_more: whether more of its drafts are accepted than of its predecessor's.
        overflows: whether activations exceed the range of float16.
        renames: whether `tensors` translates published names.
    """

    name: str
    folder: str
    read: Callable[[dict], DrafterConfig]
    architectures: tuple[str, ...] = ()
    speculators: str = ""
    speculators_architectures: tuple[str, ...] = ()
    recognizes: Callable[[dict], bool] = lambda _: False
    resembles: str = ""
    tokens_per_round: TokensPerRound | None = None
    chains: bool = False
    accepts_more: bool = False
    overflows: bool = False
    renames: bool = False
