"""The window's style sheet, for styles that the palette doesn't cover.

Styles match the `look` property, so other controls stay native. On Linux, which has no native look, fields and check boxes match
the style of the buttons.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QColor

from app.widgets.colors import Colors

CONTROLS = Path(__file__).parents[2] / "resources" / "controls"
SCROLL_BAR = 11
RADIUS = 10


def style_sheet(c: Colors, small: int, px: Callable[[int], int]) -> str:
    """Return the style sheet.

    Args:
        c: the colors.
        small: pixel size of small text.
        px: scales a length with the text size.
    """
    chip = round(small * 0.62)  # half the height of a chip
    selection = f"selection-background-color: {c.selection}; selection-color: {c.text}; placeholder-text-color: {c.faint};"
    return f"""
    QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 5px; }}
    QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; }}
    {_buttons(c, small, chip)}
    QLabel[look="secondary"] {{ color: {c.secondary}; }}
    QLabel[look="faint"] {{ color: {c.faint}; }}
    QLabel[look="accent"] {{ color: {c.accent}; }}
    QLabel[look="danger"] {{ color: {c.danger}; }}
    QLabel[look="caution"] {{ color: {c.nearly}; }}
    QLabel[look="chip"] {{ color: {c.secondary}; background: {c.bubble}; border-radius: {chip}px; padding: 2px 9px; }}
    QLabel[look="chip-accent"] {{ color: {c.accent}; background: {c.accent_ground}; border-radius: {chip}px; padding: 2px 9px; }}
    QFrame[look="bubble"] {{ background: {c.bubble}; border-radius: 14px; }}
    QFrame[look="code"] {{ background: {c.code}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="asking"] {{ background: {c.raised}; border: 1px solid {c.accent}; border-radius: {RADIUS}px; }}
    QFrame[look="find"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="find"] QLineEdit {{ background: transparent; border: none; color: {c.text}; {selection} }}
    QFrame[look^="composer"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 16px; }}
    QFrame[look="composer-active"] {{ border-color: {c.accent}; }}
    QFrame[look="composer-waiting"] {{ background: {c.accent_ground}; border: 1px dashed {c.accent}; }}
    QPlainTextEdit[look="waiting"] {{ color: {c.secondary}; }}
    QFrame[look="waiting"] {{ background: {c.accent_ground}; border-radius: {RADIUS}px; }}
    QFrame[look="group"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="notice"], QFrame[look="undo"] {{ background: {c.bubble}; border-radius: {RADIUS}px; }}
    QFrame[look="warning"] {{ background: {c.copied_ground}; border-radius: {RADIUS}px; }}
    QFrame[look="error"] {{ background: {c.danger_ground}; border-radius: {RADIUS}px; }}
    QFrame[look="attachment"] {{ background: {c.bubble}; border: 1px solid {c.line}; border-radius: 9px; }}
    QLabel[look="chip-caution"] {{ color: {c.copied}; background: {c.copied_ground}; border-radius: {chip}px; padding: 2px 9px; }}
    QFrame[look="tool"] {{ background: {c.accent_ground}; border-radius: {chip + 5}px; }}
    QFrame[look="drop"] {{ background: {c.accent_ground}; border: 2px dashed {c.accent}; border-radius: 16px; }}
    QFrame[look="focus"] {{ background: {c.accent}; border: none; }}
    QFrame[look="hairline"] {{ background: {c.line}; max-height: 1px; min-height: 1px; border: none; }}
    QFrame[look="upright"] {{ background: {c.line}; max-width: 1px; min-width: 1px; border: none; }}
    QTextEdit, QPlainTextEdit {{ background: transparent; border: none; {selection} }}
    QPlainTextEdit[look="field"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {RADIUS}px;
        color: {c.text}; }}
    QPlainTextEdit[look="field"]:focus, QLineEdit[look="search"]:focus {{ border-color: {c.accent}; }}
    QLineEdit[look="search"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 8px; color: {c.text};
        padding: 4px 8px 4px {px(26)}px; font-size: {small}px; {selection} }}
    QListWidget[look="history"] {{ background: transparent; border: none; outline: 0; }}
    QListWidget[look="history"]::item {{ padding: 6px 8px; border-radius: 6px; color: {c.text}; }}
    QListWidget[look="history"]::item:hover {{ background: {c.hover}; }}
    QListWidget[look="history"]::item:selected {{ background: {c.chosen}; color: {c.text}; }}
    QTableView[look="records"], QListWidget[look="records"] {{ background: {c.raised}; border: 1px solid {c.line};
        border-radius: {RADIUS}px; color: {c.text}; outline: 0;
        selection-background-color: {c.chosen}; selection-color: {c.text}; }}
    QTableView[look="records"]:focus, QListWidget[look="records"]:focus {{ border-color: {c.accent}; }}
    QTableView[look="records"]::item {{ padding: 0 8px; }}
    QTableView[look="records"] QHeaderView {{ background: transparent; border: none; }}
    QTableView[look="records"] QHeaderView::section {{ background: transparent; color: {c.secondary}; border: none;
        border-bottom: 1px solid {c.line}; padding: 4px 8px; font-size: {small}px; }}
    QFrame[look="popover"] {{ background: {c.raised}; border: 1px solid {c.line}; }}
    QDialog[look="palette"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 12px; }}
    QDialog[look="palette"] QListView {{ background: transparent; border: none; outline: 0; }}
    QLineEdit[look="palette"] {{ background: transparent; border: none; border-bottom: 1px solid {c.line}; padding: 8px 10px;
        color: {c.text}; {selection} }}
    QWidget[look="sidebar"] {{ background: {c.sidebar}; }}
    QWidget[look="sidebar"] QAbstractItemView {{ background: transparent; border: none; outline: 0; }}
    QWidget[look="sidebar"] QAbstractItemView::item, QWidget[look="sidebar"] QAbstractItemView::branch {{
        background: transparent; }}
    QWidget[look="sidebar"] QAbstractItemView QLineEdit {{ background: {c.raised}; border: 1px solid {c.accent};
        border-radius: 6px; padding: 0 4px; color: {c.text}; }}
    QSplitter::handle {{ background: {c.line}; }}
    QScrollBar:vertical {{ background: transparent; width: {SCROLL_BAR}px; margin: 0; }}
    QScrollBar::handle:vertical {{ background: {c.track}; border-radius: 3px; min-height: 36px; margin: 2px 3px; }}
    QScrollBar:horizontal {{ background: transparent; height: {SCROLL_BAR}px; margin: 0; }}
    QScrollBar::handle:horizontal {{ background: {c.track}; border-radius: 3px; min-width: 36px; margin: 3px 2px; }}
    QScrollBar::handle:disabled {{ background: transparent; }}
    QScrollBar::handle:hover:enabled {{ background: {c.faint}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    {"" if sys.platform == "darwin" else _controls(c, px, selection)}
    """


def _buttons(c: Colors, small: int, chip: int) -> str:
    size = f"font-size: {small}px;"
    looks = {  # border, radius, padding, text, background, more
        "quiet": ("transparent", 6, "3px 7px", c.secondary, "transparent", size),
        "arrow": ("transparent", 5, "0px 5px 1px 5px", c.secondary, "transparent", ""),
        "bordered": (c.line, 7, "5px 12px", c.text, c.raised, size),
        "filter": ("transparent", chip, "2px 6px", c.secondary, "transparent", size),
        "sign": ("transparent", chip, "2px 9px", c.secondary, c.bubble, size),
        "disclosure": ("transparent", 5, "1px 2px 1px 0px", c.accent, "transparent", f"{size} text-align: left;"),
        "pair": ("transparent", 7, "4px 8px", c.text, "transparent", f"{size} text-align: left; font-weight: 600;"),
        "popover": ("transparent", 6, "6px 8px", c.text, "transparent", f"{size} text-align: left;"),
        "card": (c.line, RADIUS, "12px 14px", c.text, c.raised, "text-align: left;"),
        "primary": (c.accent, 7, "6px 14px", c.on_accent, c.accent, size),
        "float": (c.line, 15, "6px 14px", c.text, c.raised, size),
    }
    rules = [
        f'QPushButton[look="{look}"] {{ border: 1px solid {border}; border-radius: {radius}px; padding: {padding}; color: {text}; '
        f"background: {background}; {more} }}"
        for look, (border, radius, padding, text, background, more) in looks.items()
    ]
    for look in ("quiet", "arrow", "bordered", "pair", "popover", "card"):
        rules.append(
            f'QPushButton[look="{look}"]:hover, QPushButton[look="{look}"]:focus {{ background: {c.hover}; color: {c.text}; }}'
        )
    return (
        "\n".join(rules)
        + f"""
    QPushButton[look="filter"]:hover, QPushButton[look="sign"]:hover, QPushButton[look="float"]:hover {{
        background: {c.hover}; color: {c.text}; }}
    QPushButton[look="filter"]:checked {{ background: {c.chosen}; color: {c.text}; }}
    QPushButton[look="bordered"]:checked {{ background: {c.accent_ground}; color: {c.accent}; border-color: {c.accent}; }}
    QPushButton[look]:focus {{ border-color: {c.accent}; }}
    QPushButton[look="popover"]:focus {{ border-color: transparent; background: {c.chosen}; }}
    QFrame[look="popover-row-chosen"] {{ background: {c.chosen}; border-radius: 6px; }}
    QFrame[look="popover-row-pointed"] {{ background: {c.hover}; border-radius: 6px; }}
    QFrame[look^="popover-row"] QPushButton[look="popover"]:hover, QFrame[look^="popover-row"] QPushButton[look="popover"]:focus {{
        background: transparent; }}
    QPushButton[look="primary"]:focus {{ border-color: {c.text}; }}
    QPushButton[look]:disabled {{ color: {c.disabled}; background: transparent; }}
    QPushButton[look="card"]:disabled {{ background: {c.raised}; }}
    QPushButton[look="primary"]:disabled {{ color: {c.secondary}; background: {c.bubble}; border-color: {c.line}; }}
    """
    )


def _controls(c: Colors, px: Callable[[int], int], selection: str) -> str:
    arrow, knob, groove = px(12), px(14), px(4)
    knob_margin = (knob + 2 - groove) // 2
    icons = CONTROLS.as_posix()
    check = "white" if QColor(c.on_accent).lightnessF() > 0.5 else "black"
    return f"""
    QComboBox, QAbstractSpinBox, QLineEdit[look="entry"] {{ border: 1px solid {c.line}; border-radius: 7px; padding: 4px 8px;
        color: {c.text}; background: {c.raised}; {selection} }}
    QComboBox {{ padding-right: {px(24)}px; combobox-popup: 0; }}
    QComboBox:hover {{ background: {c.hover}; }}
    QComboBox:focus, QAbstractSpinBox:focus, QLineEdit[look="entry"]:focus {{ border-color: {c.accent}; }}
    QComboBox:disabled, QAbstractSpinBox:disabled {{ color: {c.disabled}; background: transparent; }}
    QComboBox::drop-down {{ border: none; width: {px(24)}px; }}
    QComboBox::down-arrow, QAbstractSpinBox::down-arrow {{ image: url("{icons}/down.svg"); width: {arrow}px; height: {arrow}px; }}
    QAbstractSpinBox::up-arrow {{ image: url("{icons}/up.svg"); width: {arrow}px; height: {arrow}px; }}
    QAbstractSpinBox {{ padding-right: {px(20)}px; }}
    QAbstractSpinBox QLineEdit {{ background: transparent; border: none; }}
    QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ border: none; background: transparent; width: {px(20)}px; }}
    QAbstractSpinBox::up-button {{ subcontrol-position: top right; }}
    QAbstractSpinBox::down-button {{ subcontrol-position: bottom right; }}
    QComboBox QAbstractItemView {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 4px; outline: 0;
        selection-background-color: {c.chosen}; selection-color: {c.text}; }}
    QComboBox QAbstractItemView::item {{ min-height: {px(26)}px; padding: 0px 6px; }}
    QSlider:horizontal {{ min-height: {knob + 2}px; }}
    QSlider::groove:horizontal {{ height: {groove}px; border-radius: {groove // 2}px; background: {c.track}; }}
    QSlider::sub-page:horizontal {{ border-radius: {groove // 2}px; background: {c.accent}; }}
    QSlider::handle:horizontal {{ width: {knob}px; margin: -{knob_margin}px 0; border: 1px solid {c.secondary};
        border-radius: {knob_margin + groove // 2}px; background: {c.knob}; }}
    QSlider::handle:horizontal:focus {{ border: 2px solid {c.accent}; }}
    QCheckBox {{ spacing: 8px; color: {c.text}; }}
    QCheckBox:disabled {{ color: {c.disabled}; }}
    QCheckBox::indicator {{ width: {px(14)}px; height: {px(14)}px; border: 1px solid {c.faint}; border-radius: {px(4)}px;
        background: {c.raised}; }}
    QCheckBox::indicator:hover, QCheckBox::indicator:focus {{ border-color: {c.accent}; }}
    QCheckBox::indicator:checked {{ background: {c.accent}; border-color: {c.accent}; image: url("{icons}/check-{check}.svg"); }}
    QCheckBox::indicator:disabled {{ border-color: {c.track}; background: transparent; }}
    QCheckBox::indicator:checked:disabled {{ background: {c.disabled}; }}
    """
