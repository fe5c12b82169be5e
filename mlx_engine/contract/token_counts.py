"""The size of a prompt, and what it consists of, in tokens."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class PromptParts:
    """The tokens of each part of a prompt, which add up to all of them.

    Attributes:
        tools: descriptions of tools.
        chat: earlier messages, thinking that is sent again, and calls.
        results: results of tools.
        files: texts of files.
        message: the user's last message, if the prompt ends with it.
        template: what the chat template adds.
    """

    system: int = 0
    tools: int = 0
    chat: int = 0
    results: int = 0
    files: int = 0
    images: int = 0
    message: int = 0
    template: int = 0

    @property
    def total(self) -> int:
        return sum(astuple(self))


@dataclass(frozen=True)
class TokenCount:
    """The number of tokens of a prompt, and the target's context length `limit`.

    Attributes:
        exact: False for an estimate; see `CountTokens.estimate`.
        left_out: as in `PrefillProgress`.
        parts: what the prompt consists of, if asked for and known.
    """

    tokens: int
    limit: int
    exact: bool = True
    left_out: int = 0
    parts: PromptParts | None = None
