"""Settings of the disk image for dmgbuild; see `release.py image`."""

from pathlib import Path

_app = Path(defines["app"])  # type: ignore[name-defined]  # noqa: F821 - defined by dmgbuild
_folder = Path(__file__).parent if "__file__" in globals() else Path("packaging/release/disk_image").resolve()

files = [str(_app)]
symlinks = {"Applications": "/Applications"}
icon = str(_folder.parents[2] / "resources/icon/Slipstream.icns")
background = str(_folder / "background.png")  # background@2x.png next to it is for high-resolution screens
format = "ULMO"
filesystem = "APFS"
window_rect = ((240, 240), (640, 400))
default_view = "icon-view"
show_toolbar = False
show_sidebar = False
show_status_bar = False
show_pathbar = False
icon_size = 112
text_size = 13
icon_locations = {_app.name: (150, 188), "Applications": (490, 188)}
