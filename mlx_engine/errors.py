"""English text with a stable code, so that a front end can show it in another language."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineText:
    """Text for a person.

    Attributes:
        code: stable identifier of the template, such as "context_full"; front ends translate by it.
        message: the English text, with the values filled in.
        values: what the template's {names} stand for, for the translated template.
    """

    code: str
    message: str
    values: "tuple[tuple[str, str | int | float | EngineText], ...]" = ()

    @classmethod
    def of(cls, code: str, template: str, /, **values: "str | int | float | EngineText") -> "EngineText":
        """Fill in a template such as "The chat has {tokens:,} tokens."."""
        return cls(code, template.format(**values), tuple(values.items()))

    def __str__(self) -> str:
        return self.message


class UserError(Exception):
    """A failure that the user can understand and act on. Bugs are never wrapped in it.

    Args:
        code: stable identifier of the template.
        template: what happened, then what to do.
        values: for the template's {names}.
    """

    def __init__(self, code: str, template: str, /, **values: str | int | float | EngineText) -> None:
        self.text = EngineText.of(code, template, **values)
        super().__init__(self.text.message)

    @classmethod
    def of(cls, text: EngineText) -> "UserError":
        """Return the error for an existing text."""
        error = cls(text.code, "{text}", text=text.message)
        error.text = text
        return error
