"""Settings of a chat (system prompt, sampling, limits, switches) and presets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.storage.json_values import read_as
from app.text.language import tr
from mlx_engine.contract.requests import Sampling

MAX_TOKENS = 1024
SWITCHES = ("dflash", "thinking", "rolling", "private", "tool_servers", "example_servers", "tools_off")  # of a chat, in no preset


@dataclass(frozen=True)
class ChatSettings:
    """The settings of a chat. Pairs ignore switches that they don't support."""

    system: str = ""
    sampling: Sampling | None = None  # None uses the values recommended for the target
    seed: int | None = None  # None draws a new seed for each reply
    max_tokens: int = MAX_TOKENS
    thinking: bool = False
    dflash: bool = True
    rolling: bool = False  # leave out the oldest messages when the context is full
    private: bool = False  # keep the prompts off the disk
    tool_servers: tuple[str, ...] = ()  # servers that are on
    example_servers: tuple[str, ...] = ()  # those of them that an example turned on, for this chat only
    tools_off: tuple[str, ...] = ()  # “server/tool”: tools of these servers that are off

    @property
    def inherited(self) -> "ChatSettings":
        """The settings without what is meant for this chat only."""
        servers = tuple(name for name in self.tool_servers if name not in self.example_servers)
        return replace(self, private=False, rolling=False, tool_servers=servers, example_servers=())

    def following(self, before: "ChatSettings", after: "ChatSettings") -> "ChatSettings":
        """Return these settings with the inherited switches that differ."""
        old, new = before.inherited, after.inherited
        return replace(self, **{name: getattr(new, name) for name in SWITCHES if getattr(new, name) != getattr(old, name)})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "ChatSettings":
        """Read settings. Missing or mistyped fields get their defaults."""
        found: ChatSettings = read_as(cls, data if isinstance(data, Mapping) else {}, None)
        return found if found.max_tokens else replace(found, max_tokens=MAX_TOKENS)


@dataclass(frozen=True)
class Preset:
    """Named settings, without the switches of a chat."""

    name: str
    settings: ChatSettings

    def applied_to(self, settings: ChatSettings) -> ChatSettings:
        return replace(self.settings, **{name: getattr(settings, name) for name in SWITCHES})

    def fits(self, settings: ChatSettings) -> bool:
        """Whether the settings equal the preset's."""
        return self.applied_to(settings) == settings


def built_in() -> tuple[Preset, ...]:
    """Return the built-in presets. New chats use the first one."""
    return (
        Preset(tr("Model defaults"), ChatSettings()),
        Preset(tr("Precise"), ChatSettings(sampling=Sampling())),
        Preset(tr("Balanced"), ChatSettings(sampling=Sampling(temperature=0.7, top_p=0.9))),
        Preset(tr("Creative"), ChatSettings(sampling=Sampling(temperature=1.0, min_p=0.05))),
    )
