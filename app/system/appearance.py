"""How the app can look: light or dark, contrast, and text size."""

from typing import Literal

Appearance = Literal["system", "light", "dark"]
Contrast = Literal["system", "standard", "high"]
TEXT_SIZES = (12, 13, 14, 15, 16, 18, 20, 22, 24, 27, 30)  # pixels
DEFAULT_TEXT_SIZE = 15
