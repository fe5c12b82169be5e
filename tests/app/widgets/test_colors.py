"""Colors: contrast on every background."""

import re
from dataclasses import fields

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QMenu, QStyleFactory

from app.widgets.colors import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, Colors
from app.widgets.style_sheet import style_sheet
from app.widgets.theme import Theme

GROUNDS = ("window", "sidebar", "raised", "bubble", "code", "chosen", "hover")
PAIRS = (
    ("secondary", "accent_ground"),
    ("accent", "accent_ground"),
    ("on_accent", "accent"),
    ("secondary", "copied_ground"),
    ("secondary", "danger_ground"),
    ("danger", "danger_ground"),
    ("text", "danger_ground"),
    ("text", "selection"),
    ("on_hit", "hit"),
    ("on_hit", "current_hit"),
    ("drafted", "drafted_ground"),
    ("copied", "copied_ground"),
    ("own", "window"),
    ("nearly", "window"),
)
SYNTAX = ("text", "comment", "keyword", "string", "number", "name", "builtin", "operator")


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2, from 1 to 21."""

    def luminance(color: str) -> float:
        parts = (QColor(color).redF(), QColor(color).greenF(), QColor(color).blueF())
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_the_contrast_of_black_on_white_is_21() -> None:
    assert round(contrast("#000000", "#ffffff"), 3) == 21
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48  # an example of WCAG


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_legible_on_every_background(colors: Colors) -> None:
    for ground in GROUNDS:
        assert contrast(colors.text, getattr(colors, ground)) >= 7, ground
        for name in ("secondary", "faint", "accent", "danger"):
            assert contrast(getattr(colors, name), getattr(colors, ground)) >= 4.5, (name, ground)
    for name, ground in PAIRS:
        assert contrast(getattr(colors, name), getattr(colors, ground)) >= 4.5, (name, ground)
    for name in SYNTAX:
        assert contrast(getattr(colors, name), colors.code) >= 4.5, name


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_of_the_palette_is_legible(qapp: QApplication, dark: bool) -> None:
    """Disabled text is left out: it says nothing that the user can act on."""
    theme = Theme(qapp, "dark" if dark else "light")
    roles = QPalette.ColorRole
    for role in (roles.Text, roles.WindowText, roles.ButtonText, roles.PlaceholderText, roles.ToolTipText, roles.Link):
        for ground in (roles.Window, roles.Base, roles.AlternateBase, roles.Button, roles.ToolTipBase):
            assert contrast(qapp.palette().color(role).name(), qapp.palette().color(ground).name()) >= 4.5, (role, ground)
    theme.set_appearance("system")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_unchecked_boxes_in_menus_are_visible(qapp: QApplication, dark: bool) -> None:
    """Their lines were darker than a dark menu."""
    theme, menu = Theme(qapp, "dark" if dark else "light"), QMenu()
    menu.setStyle(QStyleFactory.create("Fusion"))
    menu.addAction("Files").setCheckable(True)
    menu.popup(QPoint())
    image, row = menu.grab().toImage(), menu.actionGeometry(menu.actions()[0])
    line = [image.pixelColor(x, row.center().y()).name() for x in range(row.left() + 3, row.left() + row.height())]
    assert max(contrast(color, theme.colors.raised) for color in line) >= 2.5
    menu.close()
    theme.set_appearance("system")


def test_every_text_color_of_the_style_sheet_is_tested() -> None:
    sheet = style_sheet(Colors(**{one.name: one.name for one in fields(Colors)}), 13, lambda pixels: pixels)
    used = set(re.findall(r"(?<![-\w])color: (\w+)", sheet)) - {"disabled"}
    assert used <= {"text", "secondary", "faint", "accent", "danger", *(name for name, _ in PAIRS)}


@pytest.mark.parametrize("colors", [LIGHT_CONTRAST, DARK_CONTRAST], ids=["light", "dark"])
def test_high_contrast_is_at_least_seven_to_one(colors: Colors) -> None:
    for ground in GROUNDS:
        for name in ("text", "secondary"):
            assert contrast(getattr(colors, name), getattr(colors, ground)) >= 7, (name, ground)
    for name in SYNTAX:
        assert contrast(getattr(colors, name), colors.code) >= 7, name
    for name in ("line", "track", "accent", "faint"):
        assert contrast(getattr(colors, name), colors.window) >= 4.5, name
    assert contrast(colors.on_hit, colors.current_hit) >= 4.5
    assert contrast(colors.danger, colors.danger_ground) >= 7


def test_every_color_is_valid() -> None:
    for colors in (LIGHT, DARK, LIGHT_CONTRAST, DARK_CONTRAST):
        for field in fields(colors):
            assert QColor(getattr(colors, field.name)).isValid(), field.name
