"""A field for environment variables or headers."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPlainTextEdit

from app.text.language import tr
from app.text.plain_text import one_line
from app.widgets.theme import set_look
from mlx_engine.contract.secrets import is_reference

LINES = 2
MAX_LINE = 200  # characters of a line in a message
HIDDEN = "••••••••"  # stands for a value in the keychain


class PairsField(QPlainTextEdit):
    """A field with a name and a value on each line. Values in the keychain are hidden."""

    def __init__(self, pairs: tuple[tuple[str, str], ...], example: str, mark: str) -> None:
        super().__init__()
        self._pairs, self._mark = dict(pairs), mark
        set_look(self, "field")
        self.document().setDocumentMargin(8)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setPlaceholderText(example)
        self.setPlainText("\n".join(f"{name}{mark}{HIDDEN if is_reference(value) else value}" for name, value in pairs))

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), LINES * self.fontMetrics().lineSpacing() + 20)

    def minimumSizeHint(self) -> QSize:
        return QSize(100, self.sizeHint().height())

    def read(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs.

        Raises:
            ValueError: a line has no name or no value.
        """
        found = {}
        for text in filter(str.strip, self.toPlainText().splitlines()):
            name, mark, value = (part.strip() for part in text.partition(self._mark.strip()))
            if not name or not mark:
                raise ValueError(
                    tr("“{line}” needs a name, “{mark}”, and a value.", line=one_line(text, MAX_LINE), mark=self._mark.strip())
                )
            found[name] = self._pairs.get(name, value) if value == HIDDEN else value
        return tuple(found.items())
