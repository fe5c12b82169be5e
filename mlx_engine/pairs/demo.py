"""The demo pair that comes with Slipstream."""

from pathlib import Path

import resources


def demo_pair() -> tuple[Path, Path]:
    """The folders of the demo target and its drafter."""
    folder = Path(resources.__file__).parent / "demo_pair"
    return folder / "target", folder / "drafter"
