"""Every color of the window: light, dark, and both with high contrast. No other file names a color."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Colors:
    """Colors by purpose."""

    window: str
    sidebar: str
    raised: str  # composer, fields of dialogs
    bubble: str  # a message of the user
    code: str  # background of code
    hover: str
    chosen: str  # the row of the open chat
    line: str  # hairlines
    text: str
    secondary: str
    faint: str
    accent: str
    on_accent: str
    accent_ground: str
    danger: str
    danger_ground: str
    selection: str
    track: str  # a switch that is off, the rest of a bar
    knob: str
    # code
    comment: str
    keyword: str
    string: str
    number: str
    name: str
    builtin: str
    operator: str
    # search
    hit: str
    current_hit: str
    on_hit: str
    # token sources
    drafted: str
    drafted_ground: str
    copied: str
    copied_ground: str
    own: str


LIGHT = Colors(
    window="#ffffff",
    sidebar="#f5f6f8",
    raised="#ffffff",
    bubble="#f0f2f5",
    code="#f6f7f9",
    hover="#eceef1",
    chosen="#dfe5ec",
    line="#dfe2e6",
    text="#1b1f24",
    secondary="#626a73",
    faint="#8b929b",
    accent="#0b6bcb",
    on_accent="#ffffff",
    accent_ground="#e7f1fb",
    danger="#b3261e",
    danger_ground="#fdf1f0",
    selection="#b9d7f5",
    track="#c3c8ce",
    knob="#ffffff",
    comment="#727a84",
    keyword="#8a2da5",
    string="#1a7f37",
    number="#9a5b00",
    name="#0550ae",
    builtin="#0b7285",
    operator="#505862",
    hit="#ffe9a8",
    current_hit="#ffc533",
    on_hit="#1b1f24",
    drafted="#1a7f37",
    drafted_ground="#e3f4e8",
    copied="#9a5b00",
    copied_ground="#fdf0d5",
    own="#7a828c",
)

DARK = Colors(
    window="#1b1d20",
    sidebar="#16181a",
    raised="#24272b",
    bubble="#2b2f34",
    code="#232629",
    hover="#2a2e33",
    chosen="#353b43",
    line="#373b41",
    text="#e7e9ec",
    secondary="#a2a9b2",
    faint="#7d858f",
    accent="#5aa9f5",
    on_accent="#0d1a26",
    accent_ground="#1f3247",
    danger="#f2938c",
    danger_ground="#3a2322",
    selection="#2f5580",
    track="#4b5057",
    knob="#f2f4f6",
    comment="#8b939d",
    keyword="#d2a0ec",
    string="#8ccf9a",
    number="#e6b673",
    name="#85bdf7",
    builtin="#7fd1de",
    operator="#b4bac2",
    hit="#6b5a1e",
    current_hit="#946800",
    on_hit="#ffffff",
    drafted="#7fcf93",
    drafted_ground="#1d3526",
    copied="#e6b673",
    copied_ground="#3a2e18",
    own="#8b939d",
)

# Text has a contrast of at least 7:1 on every background, lines and icons of at least 4.5:1.
LIGHT_CONTRAST = replace(
    LIGHT,
    sidebar="#f2f3f5",
    line="#5f666e",
    text="#000000",
    secondary="#2e343a",
    faint="#454c54",
    accent="#00458c",
    accent_ground="#e3eefa",
    danger="#8c0f08",
    track="#5f666e",
    comment="#434a52",
    keyword="#6a1384",
    string="#0b5a22",
    number="#6b3d00",
    name="#033a80",
    builtin="#064c5a",
    operator="#2e343a",
    selection="#9cc7f2",
    current_hit="#ffb000",
    on_hit="#000000",
)

DARK_CONTRAST = replace(
    DARK,
    window="#0b0c0d",
    sidebar="#000000",
    raised="#141618",
    bubble="#202327",
    code="#121416",
    hover="#26292e",
    chosen="#30363d",
    line="#9aa1aa",
    text="#ffffff",
    secondary="#d5dae0",
    faint="#b4bac2",
    accent="#8cc6ff",
    on_accent="#00121f",
    accent_ground="#12263a",
    danger="#ffb4ad",
    danger_ground="#331715",
    track="#8a919a",
    comment="#b8bfc8",
    keyword="#e3bdf7",
    string="#a9e5b5",
    number="#f5cd94",
    name="#abd4ff",
    builtin="#a2e4ee",
    operator="#d5dae0",
    selection="#1f4d80",
)
