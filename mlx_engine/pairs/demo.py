"""The demo pair that ships with Slipstream."""

from pathlib import Path

import resources

REFUSAL = (
    "This small demo model can't help with that.\n\n"
    "Choose a larger model, or ask me for a joke, a haiku, a sum, the planets, or a short Python function."
)
"""The demo target's reply to every question outside its training text."""


def demo_pair() -> tuple[Path, Path]:
    """Return the folders of the demo target and its drafter."""
    folder = Path(resources.__file__).parent / "demo_pair"
    return folder / "target", folder / "drafter"
