"""All colors of the window: light, dark, and both with high contrast."""

from dataclasses import dataclass, field, fields
from typing import Any


def _color(light: str, dark: str, light_contrast: str = "", dark_contrast: str = "") -> Any:
    """Declare a color for four palettes. High contrast defaults to standard contrast."""
    return field(metadata={"palettes": (light, dark, light_contrast or light, dark_contrast or dark)})


@dataclass(frozen=True)
class Colors:
    """A palette of colors, named by purpose.

    The contrast ratio of text is at least 4.5:1 on every background. With high contrast, it is at least 7:1, and at least 4.5:1 for
    lines and icons.
    """

    window: str = _color("#ffffff", "#1b1d20", "#ffffff", "#0b0c0d")
    sidebar: str = _color("#f5f6f8", "#16181a", "#f2f3f5", "#000000")
    raised: str = _color("#ffffff", "#24272b", "#ffffff", "#141618")  # composer and fields in dialogs
    bubble: str = _color("#f0f2f5", "#2b2f34", "#f0f2f5", "#202327")  # the user's messages
    code: str = _color("#f6f7f9", "#232629", "#f6f7f9", "#121416")  # background of code
    hover: str = _color("#eceef1", "#2a2e33", "#eceef1", "#26292e")
    chosen: str = _color("#dfe5ec", "#353b43", "#dfe5ec", "#30363d")  # the open chat's row
    line: str = _color("#dfe2e6", "#373b41", "#5f666e", "#9aa1aa")  # hairlines
    text: str = _color("#1b1f24", "#e7e9ec", "#000000", "#ffffff")
    secondary: str = _color("#4f565f", "#b4bac2", "#2e343a", "#d5dae0")
    faint: str = _color("#5f676f", "#a0a7b0", "#3f464d", "#c0c6cd")
    disabled: str = _color("#8b929b", "#7d858f", "#454c54", "#b4bac2")  # text and icons that do nothing now
    accent: str = _color("#0a61b9", "#5aa9f5", "#00458c", "#8cc6ff")
    on_accent: str = _color("#ffffff", "#0d1a26", "#ffffff", "#00121f")
    accent_ground: str = _color("#e7f1fb", "#1f3247", "#e3eefa", "#12263a")
    danger: str = _color("#b3261e", "#f2938c", "#8c0f08", "#ffb4ad")
    fits: str = _color("#187633", "#7fcf93")  # a pair that fits
    nearly: str = _color("#9a5b00", "#e6b673")  # one that hardly does, or is slow
    danger_ground: str = _color("#fdf1f0", "#3a2322", "#fdf1f0", "#331715")
    selection: str = _color("#b9d7f5", "#2f5580", "#9cc7f2", "#1f4d80")
    track: str = _color("#c3c8ce", "#4b5057", "#5f666e", "#8a919a")  # off switches and the empty part of bars
    knob: str = _color("#ffffff", "#f2f4f6")
    # code
    comment: str = _color("#666e78", "#8b939d", "#434a52", "#b8bfc8")
    keyword: str = _color("#8a2da5", "#d2a0ec", "#6a1384", "#e3bdf7")
    string: str = _color("#1a7f37", "#8ccf9a", "#0b5a22", "#a9e5b5")
    number: str = _color("#9a5b00", "#e6b673", "#6b3d00", "#f5cd94")
    name: str = _color("#0550ae", "#85bdf7", "#033a80", "#abd4ff")
    builtin: str = _color("#0b7285", "#7fd1de", "#064c5a", "#a2e4ee")
    operator: str = _color("#505862", "#b4bac2", "#2e343a", "#d5dae0")
    # search
    hit: str = _color("#ffe9a8", "#6b5a1e")
    current_hit: str = _color("#ffc533", "#946800", "#ffb000", "#946800")
    on_hit: str = _color("#1b1f24", "#ffffff", "#000000", "#ffffff")
    # token sources
    drafted: str = _color("#187633", "#7fcf93")
    drafted_ground: str = _color("#e3f4e8", "#1d3526")
    copied: str = _color("#9a5b00", "#e6b673")
    copied_ground: str = _color("#fdf0d5", "#3a2e18")
    own: str = _color("#666e78", "#8b939d")


LIGHT, DARK, LIGHT_CONTRAST, DARK_CONTRAST = (
    Colors(**{color.name: color.metadata["palettes"][palette] for color in fields(Colors)}) for palette in range(4)
)
