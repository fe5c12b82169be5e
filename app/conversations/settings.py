"""What a chat asks of the model besides its messages: system prompt, sampling, limits, switches; and named presets of these."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from app.conversations.plain_text import clean
from app.language import tr
from mlx_engine.requests import Sampling

MAX_TOKENS = 1024


@dataclass(frozen=True)
class ChatSettings:
    """`sampling` None means what the pair's makers advise; `seed` None a fresh one each time. `dflash` and `thinking` are wishes: a
    pair that cannot do either answers without."""

    system: str = ""
    sampling: Sampling | None = None
    seed: int | None = None
    max_tokens: int = MAX_TOKENS
    thinking: bool = False
    dflash: bool = True

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "ChatSettings":
        """What is missing or of a wrong kind keeps its default: a file may come from another version or another hand."""
        if not isinstance(data, Mapping):
            return cls()
        kept = _of_kind(cls(), data)
        kept["system"] = clean(kept.get("system", ""))
        sampling = data.get("sampling")
        kept["sampling"] = sampling_from(sampling) if isinstance(sampling, Mapping) else None
        seed = data.get("seed")
        kept["seed"] = seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**64 else None
        if kept.get("max_tokens", 1) < 1:
            kept.pop("max_tokens")
        return cls(**kept)


def sampling_from(data: Mapping[str, Any]) -> Sampling:
    """Sampling from JSON, with the defaults where a field is missing or of a wrong kind."""
    return Sampling(**_of_kind(Sampling(), data))


def _of_kind(default: ChatSettings | Sampling, data: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for one in fields(default):
        kind = type(getattr(default, one.name))
        value: Any = data.get(one.name)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is kind and (kind is not float or math.isfinite(value)):
            kept[one.name] = value
    return kept


@dataclass(frozen=True)
class Preset:
    """Named settings. Applying one leaves the switches for DFlash and thinking, which stand in the window, as they are."""

    name: str
    settings: ChatSettings

    def applied_to(self, settings: ChatSettings) -> ChatSettings:
        return replace(self.settings, dflash=settings.dflash, thinking=settings.thinking)

    def fits(self, settings: ChatSettings) -> bool:
        """Whether these settings are this preset's."""
        return self.applied_to(settings) == settings


# The first holds what a new chat has. Temperatures: 0 always takes the likeliest token; 1 follows the model's own probabilities.


def built_in() -> tuple[Preset, ...]:
    """The presets that come with the app."""
    return (
        Preset(tr("Model’s defaults"), ChatSettings()),
        Preset(tr("Precise"), ChatSettings(sampling=Sampling())),
        Preset(tr("Balanced"), ChatSettings(sampling=Sampling(temperature=0.7, top_p=0.9))),
        Preset(tr("Creative"), ChatSettings(sampling=Sampling(temperature=1.0, min_p=0.05))),
    )
