"""English texts with stable codes, which front ends translate."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineText:
    """A text for the user.

    Attributes:
        code: stable identifier of the template, such as "context_full", by which front ends translate it.
        message: English text with the values filled in.
        values: values of the template's {names}.
    """

    code: str
    message: str
    values: "tuple[tuple[str, str | int | float | EngineText], ...]" = ()

    @classmethod
    def of(cls, code: str, template: str, /, **values: "str | int | float | EngineText") -> "EngineText":
        """Return a filled-in template such as "The chat has {tokens:,} tokens."."""
        return cls(code, template.format(**values), tuple(values.items()))

    def __str__(self) -> str:
        return self.message


class WorkCancelled(Exception):
    """An error for work that was canceled with its request."""


class UserError(Exception):
    """An error that the user can understand and fix, never a bug.

    Args:
        code: stable identifier of the template.
        template: what happened, then what to do.
        values: values of the template's {names}.
    """

    def __init__(self, code: str, template: str, /, **values: str | int | float | EngineText) -> None:
        self.text = EngineText.of(code, template, **values)
        super().__init__(self.text.message)

    @classmethod
    def of(cls, text: EngineText) -> "UserError":
        """Return an error with an existing text."""
        error = cls(text.code, "{text}", text=text.message)
        error.text = text
        return error


# Why replies are decoded plainly
DFLASH_OFF = EngineText.of("dflash_off", "DFlash is off")
NO_DRAFTER = EngineText.of("no_drafter", "no drafter is loaded")
