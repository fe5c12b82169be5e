"""Make a release, step by step: `release.py STEP [--dry-run]`.

Each step can be run alone and repeated. --dry-run prints what a step would do, on any system. Credentials come from the environment
and are never printed. docs/releasing.md explains the order and the variables.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import plistlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "packaging"))

import bytecode  # noqa: E402

STAMP = ROOT / "resources/release.json"
BUILT = ROOT / "build/app/macos/app/Slipstream.app"
IDENTITY = "SLIPSTREAM_SIGNING_IDENTITY"  # "Developer ID Application: … (TEAM)", or - for a build for this Mac only
NOTARY = {"--key": "SLIPSTREAM_NOTARY_KEY_FILE", "--key-id": "SLIPSTREAM_NOTARY_KEY_ID", "--issuer": "SLIPSTREAM_NOTARY_ISSUER"}
CERTIFICATE, CERTIFICATE_PASSWORD = "SLIPSTREAM_CERTIFICATE_FILE", "SLIPSTREAM_CERTIFICATE_PASSWORD"
KEYCHAIN_PASSWORD = "SLIPSTREAM_KEYCHAIN_PASSWORD"
NOTARY_HOURS = 2  # for each of two submissions: the app and the disk image
KEYCHAIN_HOURS = 6  # unlocked: the image is signed after the app's notarization
CREDENTIALS = (IDENTITY, *NOTARY.values(), CERTIFICATE, CERTIFICATE_PASSWORD, KEYCHAIN_PASSWORD)
WHICH_IMAGE = """
## Which file do I download?

| Your Mac | File |
|---|---|
| M5 or later, with macOS 26.2 or later | `Slipstream-{version}-macos26.dmg` |
| Any other Mac with Apple silicon, with macOS 14 or later | `Slipstream-{version}-macos14.dmg` |"""
PYTHON = (3, 13)  # as in packaging/macos/python3.13.txt; Briefcase bundles the version that runs it
SYSTEM_LOG = (3, 14)  # from this version on, the launcher sends standard output to the system log
LOCALIZATIONS = ROOT / "packaging/release/localizations"
UNIVERSAL, ARM64 = bytes.fromhex("cafebabe"), 0x0100000C
MAGICS = (bytes.fromhex("cffaedfe"), UNIVERSAL)


class Refusal(Exception):
    """Why a step can't be done, and what to do."""


@dataclass(frozen=True)
class Release:
    """One build, and where and how to make it."""

    min_os: str
    environment: Mapping[str, str]
    dist: Path = ROOT / "dist"
    dry: bool = False
    cpu: bool = False  # the self-test doesn't use Metal

    @property
    def project(self) -> dict:
        return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def version(self) -> str:
        return self.project["project"]["version"]

    @property
    def build_version(self) -> str:
        """CFBundleVersion, which must increase with each release.

        macOS and updaters compare its three numbers.
        """
        if not re.fullmatch(r"\d+\.\d+\.\d+", self.version):
            raise Refusal(f"The version {self.version} must be three numbers. Change it in pyproject.toml.")
        return self.version

    @property
    def build(self) -> str:
        return f"macos{self.min_os.partition('.')[0]}"

    @property
    def app(self) -> Path:
        return self.dist / self.build / "Slipstream.app"

    @property
    def archive(self) -> Path:
        return self.dist / self.build / "Slipstream.zip"

    @property
    def image(self) -> Path:
        return self.dist / f"Slipstream-{self.version}-{self.build}.dmg"

    def credential(self, name: str) -> str:
        value = self.environment.get(name, "")
        if not value:
            if self.dry:
                return f"${name}"
            raise Refusal(f"{name} is not set. docs/releasing.md explains it.")
        return f"${name}" if self.dry else value

    def run(self, *command: str | Path, quiet: bool = False) -> None:
        """Print a command, and run it unless this is a dry run."""
        words = [str(word) for word in command]
        if not quiet or self.dry:
            named = {self.environment.get(name): f"${name}" for name in CREDENTIALS}
            print("$", " ".join(shown(named.get(word, word)) for word in words), flush=True)
        if self.dry:
            return
        if sys.platform != "darwin" and words[0] not in (sys.executable,):
            raise Refusal(f"{words[0]} needs macOS. Run this step on a Mac, or use --dry-run.")
        if (status := subprocess.run(words, cwd=ROOT).returncode) != 0:
            raise Refusal(f"{Path(words[0]).name} failed with exit code {status}. See its output above.")

    def does(self, what: str) -> bool:
        """Print what the step does itself, and return whether to do it."""
        print(f"- {what}", flush=True)
        return not self.dry


def shown(word: str) -> str:
    """Quote a word for the shell; variables stay readable."""
    place = word.replace(str(ROOT) + "/", "")
    return place if re.fullmatch(r"\$\w+", place) else shlex.quote(place)


def build(release: Release) -> None:
    """Build the bundle in dist/ with Briefcase, and check it."""
    if PYTHON >= SYSTEM_LOG or (not release.dry and sys.version_info >= SYSTEM_LOG):
        raise Refusal(
            "From Python 3.14 on, Briefcase's launcher sends standard output to the system log, so the app could not read what its "
            "child processes and the self-test print. Build with Python 3.13."
        )
    if not release.dry and sys.version_info[:2] != PYTHON:
        raise Refusal(f"The bundle contains the Python that builds it. Run this with Python {PYTHON[0]}.{PYTHON[1]}.")
    repository = release.environment.get("GITHUB_REPOSITORY", "")
    releases = f"https://api.github.com/repos/{repository}/releases/latest" if repository else ""
    stamp = {"version": release.version, "releases": releases, "build": release.build}
    if release.does(f"{STAMP.relative_to(ROOT)}: {json.dumps(stamp)}"):
        STAMP.write_text(json.dumps(stamp) + "\n", encoding="utf-8")
    if release.does("remove the bundle of an earlier build"):
        shutil.rmtree(BUILT.parents[2], ignore_errors=True)
        shutil.rmtree(release.app, ignore_errors=True)
    configured = {"min_os_version": release.min_os, "build": release.build_version}
    options = ["macOS", "app", "--no-input"]
    for name, value in configured.items():
        options += ["--config", f'{name}="{value}"']
    release.run(sys.executable, "-m", "briefcase", "create", *options)
    # Briefcase does this only for packages and the launcher. It must happen before `build`, which signs the app for this Mac.
    if release.does("remove other architectures from Python's own programs"):
        for path in (BUILT / "Contents/Frameworks").rglob("*"):
            if path.is_file() and not path.is_symlink():
                thin(path)
    if release.does("remove the parts of Qt that the app doesn't use"):
        from qt import prune  # needs macholib

        prune(BUILT / "Contents/Resources/app_packages", ROOT)
    if release.does("give Qt's frameworks the links that wheels can't contain"):
        link_frameworks(BUILT / "Contents/Resources/app_packages")
    if release.does("add the translations of Info.plist"):
        shutil.copytree(LOCALIZATIONS, BUILT / "Contents/Resources", dirs_exist_ok=True)
    release.run(sys.executable, *bytecode.command(BUILT, f"{PYTHON[0]}.{PYTHON[1]}"))
    release.run(sys.executable, "-m", "briefcase", "build", *options)
    if release.does(f"move the bundle to {release.app.relative_to(release.dist.parent)}"):
        release.app.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(BUILT, release.app)
    check(release, "--build-root", ROOT)


def thin(path: Path) -> None:
    """Reduce a universal program to its arm64 part. Other files are unchanged."""
    with path.open("rb") as file:
        magic, count = struct.unpack(">4sI", file.read(8).ljust(8, b"\0"))
        if magic != UNIVERSAL or count > 16:  # Java classes have the same magic number
            return
        parts = {kind: (at, size) for kind, _, at, size, _ in struct.iter_unpack(">IIIII", file.read(20 * count))}
        if ARM64 not in parts:
            raise Refusal(f"{path} has no part for arm64.")
        at, size = parts[ARM64]
        file.seek(at)
        part = file.read(size)
    path.write_bytes(part)


def link_frameworks(folder: Path) -> None:
    """Give every framework its links: Versions/Current, and its parts.

    Wheels have copies in place of links, or nothing. codesign calls such a framework "bundle format unrecognized, invalid, or
    unsuitable".

    Raises:
        Refusal: a framework has another layout.
    """
    for framework in sorted(folder.rglob("*.framework")):
        versions = [path for path in framework.glob("Versions/*") if path.name != "Current"]
        if len(versions) != 1:
            raise Refusal(f"{framework} has {len(versions)} versions, not one.")
        current = framework / "Versions/Current"
        if not current.is_symlink():
            current.symlink_to(versions[0].name)
        for part in versions[0].iterdir():
            link = framework / part.name
            if not link.is_symlink():
                if link.is_dir():
                    for copy in filter(Path.is_file, link.rglob("*")):
                        original = part / copy.relative_to(link)
                        if not original.is_file() or original.read_bytes() != copy.read_bytes():
                            raise Refusal(f"{copy} differs from {original}.")
                    shutil.rmtree(link)
                link.symlink_to(f"Versions/Current/{part.name}")
        if extra := [path.name for path in framework.iterdir() if path.name != "Versions" and not path.is_symlink()]:
            raise Refusal(f"{framework} contains {', '.join(extra)} outside its version.")


def check(release: Release, *options: str | Path) -> None:
    release.run(sys.executable, ROOT / "packaging/check_bundle.py", release.app, "--min-os", release.min_os, *options)


def selftest(release: Release) -> None:
    """Run the app's self-test from the bundle."""
    release.run(release.app / "Contents/MacOS/Slipstream", "--selftest", "--cpu" if release.cpu else "--require-metal")


def keychain(release: Release) -> None:
    """Import the certificate into a keychain of its own, for a CI runner."""
    password, path = release.credential(KEYCHAIN_PASSWORD), release.dist / "release.keychain-db"
    release.run("security", "create-keychain", "-p", password, path)
    release.run("security", "set-keychain-settings", "-lut", str(3600 * KEYCHAIN_HOURS), path)
    release.run("security", "unlock-keychain", "-p", password, path)
    certificate, secret = release.credential(CERTIFICATE), release.credential(CERTIFICATE_PASSWORD)
    release.run("security", "import", certificate, "-k", path, "-P", secret, "-T", "/usr/bin/codesign")
    release.run("security", "set-key-partition-list", "-S", "apple-tool:,apple:,codesign:", "-s", "-k", password, path)
    release.run("security", "list-keychains", "-d", "user", "-s", path, "login.keychain-db")


def inside_out(app: Path) -> Iterator[Path]:
    """Yield everything with its own signature, innermost first, the app last."""
    parts = set()
    for path in app.rglob("*"):
        if path.is_symlink():
            continue
        if path.is_dir():
            if path.suffix in (".framework", ".app", ".bundle"):
                parts.add(path)
        elif path.parent != app / "Contents/MacOS":
            with path.open("rb") as file:
                if file.read(4) in MAGICS:
                    parts.add(path)
    yield from sorted(parts, key=lambda path: (-len(path.parts), path.is_dir(), path))
    yield app


def sign(release: Release) -> None:
    """Sign every part for the hardened runtime, inside out."""
    identity = release.credential(IDENTITY)
    if not release.app.is_dir():
        raise Refusal(f"Can't find {release.app}. Run the step `build` first.")
    entitlements = release.dist / release.build / "entitlements.plist"
    granted = release.project["tool"]["briefcase"]["app"]["app"]["macOS"]["entitlement"]
    if release.does(f"{entitlements.relative_to(release.dist.parent)}: {', '.join(granted)}"):
        entitlements.write_bytes(plistlib.dumps(granted))
    stamp = "--timestamp=none" if release.environment.get(IDENTITY) == "-" else "--timestamp"
    command = ["codesign", "--force", stamp, "--options", "runtime", "--sign", identity]
    for part in inside_out(release.app):
        extra = ["--entitlements", entitlements] if part == release.app else []
        release.run(*command, *extra, part, quiet=True)


def submit(release: Release, file: Path) -> None:
    keys = [word for option, name in NOTARY.items() for word in (option, release.credential(name))]
    release.run("xcrun", "notarytool", "submit", file, *keys, "--wait", "--timeout", f"{NOTARY_HOURS}h")


def notarize(release: Release) -> None:
    """Have Apple notarize the app, which takes minutes, sometimes hours."""
    release.run("ditto", "-c", "-k", "--sequesterRsrc", "--keepParent", release.app, release.archive)
    submit(release, release.archive)


def staple(release: Release) -> None:
    """Attach Apple's ticket to the app, so that it opens without a network."""
    release.run("xcrun", "stapler", "staple", release.app)


def verify(release: Release) -> None:
    """Check the signature, check the bundle, and run the self-test."""
    release.run("codesign", "--verify", "--deep", "--strict", "--verbose=2", release.app)
    check(release, "--signed", "--build-root", ROOT)
    if release.environment.get(IDENTITY) != "-":
        release.run("xcrun", "stapler", "validate", release.app)
        release.run("spctl", "--assess", "--type", "execute", "--verbose=2", release.app)
    selftest(release)


def image(release: Release) -> None:
    """Make the disk image, and sign, notarize and staple it."""
    identity = release.credential(IDENTITY)
    settings = ROOT / "packaging/release/disk_image/settings.py"
    release.run(sys.executable, "-m", "dmgbuild", "-s", settings, "-D", f"app={release.app}", "Slipstream", release.image)
    if release.environment.get(IDENTITY) == "-":
        release.run("codesign", "--force", "--sign", identity, release.image)
        return
    release.run("codesign", "--force", "--timestamp", "--sign", identity, release.image)
    submit(release, release.image)
    release.run("xcrun", "stapler", "staple", release.image)


def checksums(release: Release) -> None:
    """Write SHA256SUMS of all disk images in dist/, for `shasum -a 256 -c`."""
    images = sorted(release.dist.glob("*.dmg"))
    if not images and not release.dry:
        raise Refusal(f"Can't find a disk image in {release.dist}. Run the step `image` first.")
    if release.does(f"{(release.dist / 'SHA256SUMS').relative_to(release.dist.parent)}: {len(images)} disk images"):
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in images]
        (release.dist / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def notes(release: Release) -> None:
    """Print this version's changes, and which disk image is for which Mac."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(release.version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if found is None:
        raise Refusal(f"CHANGELOG.md has no section for version {release.version} from pyproject.toml.")
    print(found[1].strip())
    print(WHICH_IMAGE.format(version=release.version))


# In the order of a release.
STEPS: dict[str, Callable[[Release], None]] = {
    "build": build,
    "selftest": selftest,
    "keychain": keychain,
    "sign": sign,
    "notarize": notarize,
    "staple": staple,
    "verify": verify,
    "image": image,
    "checksums": checksums,
    "notes": notes,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "step", choices=STEPS, help="; ".join(f"{name}: {(step.__doc__ or '').splitlines()[0]}" for name, step in STEPS.items())
    )
    parser.add_argument(
        "--min-os",
        choices=("14.0", "26.2"),
        default="14.0",
        help="minimum macOS; 26.2 has MLX's newest kernels (default: 14.0)",
    )
    parser.add_argument("--cpu", action="store_true", help="run the self-test without Metal, where the GPU is virtual")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of bundles and disk images (default: dist/)")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be done")
    given = parser.parse_args(arguments)
    try:
        STEPS[given.step](Release(given.min_os, os.environ, given.dist.resolve(), given.dry_run, given.cpu))
    except Refusal as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
