"""What the app itself has to say."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Notice:
    """A sentence for the chat. `offer` names what the button under it does, `until` what makes the sentence untrue: that no
    loading runs, or no reply or comparison."""

    text: str
    kind: Literal["info", "error"] = "info"
    offer: Literal["", "load"] = ""
    until: Literal["", "loaded", "idle"] = ""
