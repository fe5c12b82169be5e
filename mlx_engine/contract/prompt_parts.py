"""What a prompt consists of, in tokens."""

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
