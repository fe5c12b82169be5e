"""How text looks by who supplied it."""

from PySide6.QtGui import QColor, QTextCharFormat

from app.views.theme import Theme


def tint_format(source: str, theme: Theme) -> QTextCharFormat:
    """How text is shown that this source supplied: a ground and a line under it, each different from the others'."""
    form = QTextCharFormat()
    styles = {
        "drafter": (theme.colours.drafted, QTextCharFormat.UnderlineStyle.SingleUnderline),
        "lookup": (theme.colours.looked_up, QTextCharFormat.UnderlineStyle.DashUnderline),
        "target": (theme.colours.own, QTextCharFormat.UnderlineStyle.DotLine),
        "prefill": (theme.colours.own, QTextCharFormat.UnderlineStyle.DotLine),
    }
    colour, line = styles[source]
    form.setUnderlineStyle(line)
    form.setUnderlineColor(QColor(colour))
    ground = QColor(colour)
    ground.setAlphaF(0.13)
    form.setBackground(ground)
    return form
