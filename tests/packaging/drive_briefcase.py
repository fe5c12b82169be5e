"""Run Briefcase's macOS commands on any system, as far as they need no Mac: `python drive_briefcase.py TEMPLATE FOLDER`.

Creates the app in FOLDER from the template, without Python, launcher and packages. The last line printed is JSON: the paths that
Briefcase uses.
"""

import json
import sys
import tomllib
from pathlib import Path

from briefcase.console import Console
from briefcase.platforms.macOS.app import macOSAppCreateCommand


class Create(macOSAppCreateCommand):
    supported_host_os = frozenset({"Linux", "Darwin"})

    def verify_tools(self) -> None:
        """Xcode's tools aren't needed."""

    def verify_not_on_icloud(self, *arguments: object, **options: object) -> None:
        """The check needs a macOS command."""


template, folder = sys.argv[1:]
for name in ("app", "mlx_engine", "metal", "resources", "docs", "LICENSE", "README.md"):
    (Path(folder) / name).symlink_to(Path(name).resolve())
command = Create(console=Console(), base_path=Path(folder))
branch = "main" if Path(template).is_dir() else None
version = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
overrides = {"template": template, "template_branch": branch, "build": version}
command.parse_config(Path("pyproject.toml").resolve(), overrides=overrides)
app = command.finalize(apps=command.apps.values())["app"]
command.generate_app_template(app)
command.install_app_code(app)
command.install_app_resources(app)
bundle = command.bundle_path(app)
paths = {
    "app": command.binary_path(app),
    "executable": command.binary_executable_path(app),
    "packages": command.app_packages_path(app),
    "python": command.support_path(app, runtime=True) / Path(command.runtime_path(app)).name,
    "plist": bundle / command.path_index(app, "info_plist_path"),
    "entitlements": bundle / command.path_index(app, "entitlements_path"),
}
print(json.dumps({name: str(path.relative_to(folder)) for name, path in paths.items()}))
