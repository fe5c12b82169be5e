"""An app folder as Briefcase's template for macOS lays it out, put together on any system.

Stand-ins, because their originals come from GitHub and need a Mac: the program that starts Python (Briefcase's stub), and the
Python framework. Both are Mach-O files of a header and load commands without code. The rest is real: sources, icon, Info.plist by
the configuration, and the packages that are handed in.
"""

import plistlib
import shutil
import struct
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.packaging import ROOT

ARM64, X86_64 = 0x0100000C, 0x01000007
EXECUTE, DYLIB, BUNDLE = 2, 6, 8
LC_LOAD_DYLIB, LC_ID_DYLIB, LC_CODE_SIGNATURE, LC_RPATH, LC_BUILD_VERSION = 0xC, 0xD, 0x1D, 0x8000001C, 0x32
FRAMEWORK = "Frameworks/Python.xcframework/macos-arm64_x86_64/Python.framework"


def _text(command: int, header: bytes, text: str) -> bytes:
    data = text.encode() + b"\0"
    data += b"\0" * (-(8 + len(header) + len(data)) % 8)
    return struct.pack("<II", command, 8 + len(header) + len(data)) + header + data


def signature(entitlements: Mapping[str, Any] | None, hardened: bool = True) -> bytes:
    """A signature's blobs, without the hashes that make it one."""
    blobs = [(0, struct.pack(">IIII", 0xFADE0C02, 44, 0x20400, 0x10000 if hardened else 2) + bytes(28))]
    if entitlements is not None:
        plist = plistlib.dumps(dict(entitlements))
        blobs.append((5, struct.pack(">II", 0xFADE7171, 8 + len(plist)) + plist))
    at, index, body = 12 + 8 * len(blobs), b"", b""
    for kind, blob in blobs:
        index += struct.pack(">II", kind, at + len(body))
        body += blob
    return struct.pack(">III", 0xFADE0CC0, at + len(body), len(blobs)) + index + body


def program(
    kind: int = DYLIB,
    architecture: int = ARM64,
    min_os: tuple[int, int] = (14, 0),
    libraries: Iterable[str] = ("/usr/lib/libSystem.B.dylib",),
    rpaths: Iterable[str] = (),
    signed: bytes | None = None,
) -> bytes:
    """A Mach-O file that says this of itself."""
    version = min_os[0] << 16 | min_os[1] << 8
    commands = [struct.pack("<IIIIII", LC_BUILD_VERSION, 24, 1, version, version, 0)]
    if kind == DYLIB:
        commands.append(_text(LC_ID_DYLIB, struct.pack("<IIII", 24, 0, 0, 0), "@rpath/it.dylib"))
    commands += [_text(LC_LOAD_DYLIB, struct.pack("<IIII", 24, 0, 0, 0), name) for name in libraries]
    commands += [_text(LC_RPATH, struct.pack("<I", 12), path) for path in rpaths]
    if signed is not None:
        end = 32 + sum(map(len, commands)) + 16
        commands.append(struct.pack("<IIII", LC_CODE_SIGNATURE, 16, end, len(signed)))
    body = b"".join(commands)
    return struct.pack("<IIIIIIII", 0xFEEDFACF, architecture, 0, kind, len(commands), len(body), 0, 0) + body + (signed or b"")


def info_plist(min_os: str) -> dict[str, Any]:
    """What the template writes, and the configuration's own entries after it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    app = project["tool"]["briefcase"]["app"]["app"]
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleExecutable": app["formal_name"],
        "CFBundleIconFile": "app.icns",
        "CFBundleIdentifier": f"{project['tool']['briefcase']['bundle']}.app",
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": app["formal_name"],
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": project["project"]["version"],
        "CFBundleVersion": "1",
        "LSMinimumSystemVersion": min_os,
        "NSPrincipalClass": "NSApplication",
        "MainModule": "app",
        **app["macOS"]["info"],
    }


def assemble(folder: Path, packages: Path, min_os: str = "14.0", entitlements: Mapping[str, Any] | None = None) -> Path:
    """Slipstream.app in `folder`, with the content of `packages` moved into it."""
    app = folder / "Slipstream.app"
    contents = app / "Contents"
    (contents / "MacOS").mkdir(parents=True)
    (contents / "Info.plist").write_bytes(plistlib.dumps(info_plist(min_os)))
    version = tuple(map(int, min_os.split(".")))[:2]
    stub = program(
        EXECUTE,
        min_os=(version[0], version[1]),
        libraries=["/usr/lib/libSystem.B.dylib", "@rpath/Python.framework/Versions/3.13/Python"],
        rpaths=["@executable_path/../Frameworks/Python.xcframework/macos-arm64_x86_64"],
        signed=signature(entitlements) if entitlements is not None else None,
    )
    (contents / "MacOS/Slipstream").write_bytes(stub)
    (contents / "MacOS/Slipstream").chmod(0o755)
    python = contents / FRAMEWORK / "Versions/3.13"
    python.mkdir(parents=True)
    (python / "Python").write_bytes(program(min_os=(11, 0), signed=signature(None) if entitlements is not None else None))
    (python.parent / "Current").symlink_to("3.13")
    if entitlements is not None:
        (contents / "_CodeSignature").mkdir()
        (contents / "_CodeSignature/CodeResources").write_bytes(plistlib.dumps({"files2": {}}))
    resources = contents / "Resources"
    resources.mkdir()
    shutil.copy(ROOT / "resources/icon/Slipstream.icns", resources / "app.icns")
    for source in ("app", "mlx_engine", "metal", "resources"):
        shutil.copytree(ROOT / source, resources / "app" / source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.move(packages, resources / "app_packages")
    return app


def thin_and_clean(site: Path) -> None:
    """What Briefcase does after it has installed packages: one architecture, and away with what the configuration names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pattern in project["tool"]["briefcase"]["app"]["app"]["macOS"]["cleanup_paths"]:
        for path in site.glob(pattern.partition("/app_packages/")[2]):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in list(site.rglob("__pycache__")):
        shutil.rmtree(path)
    for path in site.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            magic, count = struct.unpack(">II", file.read(8).ljust(8, b"\0"))
            if magic != 0xCAFEBABE or count > 16:
                continue
            for kind, _, at, size, _ in struct.iter_unpack(">IIIII", file.read(20 * count)):
                if kind == ARM64:
                    file.seek(at)
                    half = file.read(size)
        path.write_bytes(half)
