"""Assemble an app folder with the layout of Briefcase's macOS template, on any system.

The launcher (Briefcase's stub) and the Python framework are stand-ins, because no package index has the originals. They are Mach-O
files with a header and load commands but no code, and with the names, links and architectures of the originals. The framework's
programs are universal, as python.org builds them, until the release step reduces them. Compiled modules are headers without code,
because the tests' Python has another version. Everything else is real: sources, icon, Info.plist from the configuration, and the
given packages.
"""

import plistlib
import shutil
import struct
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.packaging import ROOT, script

release = script("release/release.py")
bytecode, qt = release.bytecode, script("qt.py")
ARM64, X86_64 = 0x0100000C, 0x01000007
EXECUTE, DYLIB, BUNDLE = 2, 6, 8
LC_LOAD_DYLIB, LC_ID_DYLIB, LC_CODE_SIGNATURE, LC_RPATH, LC_BUILD_VERSION = 0xC, 0xD, 0x1D, 0x8000001C, 0x32
# Together they import all modules of Qt that the app does
QT_SOURCES = ("app/system/single_instance.py", "app/widgets/formulas.py", "app/widgets/soft_edge.py", "app/window/chat_files.py")
SOURCES_OF_SMALL_CHECKOUT = ("app/__main__.py", *QT_SOURCES, "mlx_engine/__init__.py", "metal/__init__.py", "docs/architecture.md")
FRAMEWORKS = "Contents/Frameworks"
PYTHON = f"{FRAMEWORKS}/Python.framework/Versions/3.13"
DYNLOAD = "lib/python3.13/lib-dynload"
_LIBSSL = "@rpath/Python.framework/Versions/3.13/lib/libssl.3.dylib"


def _text(command: int, header: bytes, text: str) -> bytes:
    data = text.encode() + b"\0"
    data += b"\0" * (-(8 + len(header) + len(data)) % 8)
    return struct.pack("<II", command, 8 + len(header) + len(data)) + header + data


def signature(entitlements: Mapping[str, Any] | None, hardened: bool = True) -> bytes:
    """Return a signature's blobs without their hashes."""
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
    """Return a Mach-O file with these properties."""
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


def universal(**properties: Any) -> bytes:
    """Return a universal program with these properties."""
    head, body, at = struct.pack(">4sI", bytes.fromhex("cafebabe"), 2), b"", 4096
    for architecture in (X86_64, ARM64):
        part = program(architecture=architecture, **properties)
        head += struct.pack(">IIIII", architecture, 0, at + len(body), len(part), 12)
        body += part.ljust(4096, b"\0")
    return head.ljust(at, b"\0") + body


def starter(**properties: Any) -> bytes:
    """Return a program with the properties of Briefcase's stub for Python 3.13."""
    libraries = ["/usr/lib/libSystem.B.dylib", "@rpath/Python.framework/Versions/3.13/Python"]
    usual = {"kind": EXECUTE, "libraries": libraries, "rpaths": ["@executable_path/../Frameworks"]}
    return program(**{**usual, **properties})


def python_framework(frameworks: Path, signed: bytes | None) -> None:
    """Create Python.framework as in the support package: universal, and with parts that the configuration removes."""
    home = frameworks / "Python.framework/Versions/3.13"
    before = {"min_os": (11, 0), "signed": signed}
    files = {
        "Python": universal(**before),
        "lib/libssl.3.dylib": universal(**before),
        f"{DYNLOAD}/_ssl.cpython-313-darwin.so": universal(kind=BUNDLE, libraries=[_LIBSSL], **before),
        f"{DYNLOAD}/math.cpython-313-darwin.so": universal(kind=BUNDLE, **before),
        "lib/python3.13/encodings/__init__.py": b"pass\n",
        "lib/python3.13/importlib/_bootstrap_external.py": b"MAGIC_NUMBER = (3571).to_bytes(2, 'little') + b'\\r\\n'\n",
        "lib/python3.13/config-3.13-darwin/python.o": universal(kind=1),
        "lib/python3.13/ensurepip/_bundled/pip-25.0-py3-none-any.whl": b"PK",
        "lib/python3.13/test/__init__.py": b"pass\n",
        "lib/pkgconfig/python3.pc": b"prefix=/Library/Frameworks\n",
    }
    for name, data in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    (home.parent / "Current").symlink_to("3.13")
    (frameworks / "Python.framework/Python").symlink_to("Versions/Current/Python")


def small_checkout(root: Path) -> Path:
    """Create a checkout with the files that a bundle is checked against, and one file of each source, for tests of many bundles."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    configuration = project["tool"]["briefcase"]["app"]["app"]
    icon, pins = f"{configuration['icon']}.icns", configuration["requirement_installer_args"][1]
    translations = [path.relative_to(ROOT).as_posix() for path in (ROOT / "resources/translations").glob("*.qm")]
    texts = [path.relative_to(ROOT).as_posix() for path in release.LOCALIZATIONS.glob("*.lproj/*")]
    copied = ["pyproject.toml", icon, pins, "resources/licenses.txt", *translations, *texts, *SOURCES_OF_SMALL_CHECKOUT]
    for name in copied:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "resources/demo_pair/target").mkdir(parents=True)
    (root / "resources/demo_pair/target/model.safetensors").write_bytes(b"weights")
    return root


def info_plist(min_os: str) -> dict[str, Any]:
    """Return what the template writes, with the configuration's additions."""
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
        "CFBundleVersion": project["project"]["version"],
        "LSMinimumSystemVersion": min_os,
        "NSPrincipalClass": "NSApplication",
        "MainModule": "app",
        **app["macOS"]["info"],
    }


def assemble(
    folder: Path, packages: Path, min_os: str = "14.0", entitlements: Mapping[str, Any] | None = None, checkout: Path = ROOT
) -> Path:
    """Create Slipstream.app in `folder` from a checkout, and move `packages` into it."""
    app = folder / "Slipstream.app"
    contents = app / "Contents"
    (contents / "MacOS").mkdir(parents=True)
    (contents / "Info.plist").write_bytes(plistlib.dumps(info_plist(min_os)))
    version = tuple(map(int, min_os.split(".")))[:2]
    stub = starter(min_os=(version[0], version[1]), signed=signature(entitlements) if entitlements is not None else None)
    (contents / "MacOS/Slipstream").write_bytes(stub)
    (contents / "MacOS/Slipstream").chmod(0o755)
    python_framework(app / FRAMEWORKS, signature(None) if entitlements is not None else None)
    thin_and_clean(app / FRAMEWORKS)
    if entitlements is not None:
        (contents / "_CodeSignature").mkdir()
        (contents / "_CodeSignature/CodeResources").write_bytes(plistlib.dumps({"files2": {}}))
    resources = contents / "Resources"
    resources.mkdir()
    shutil.copy(checkout / "resources/icon/Slipstream.icns", resources / "app.icns")
    for source in ("app", "mlx_engine", "metal", "resources", "docs"):
        shutil.copytree(checkout / source, resources / "app" / source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(release.LOCALIZATIONS, resources, dirs_exist_ok=True)
    shutil.move(packages, resources / "app_packages")
    compile_modules(app)
    return app


def compile_modules(app: Path) -> None:
    """Give all modules compiled ones without code."""
    magic = bytecode.magic_number(bytecode.folders(app, "3.13")[0])
    for source in bytecode.sources(app, "3.13"):
        file = bytecode.compiled(source, "3.13")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(bytecode.header(source.read_bytes(), magic))


def thin_and_clean(folder: Path) -> None:
    """Treat Frameworks or Resources/app_packages as Briefcase and the release do: one architecture, only used parts, links."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pattern in project["tool"]["briefcase"]["app"]["app"]["macOS"]["cleanup_paths"]:
        _, found, inner = pattern.partition(f"/{folder.name}/")
        for path in folder.glob(inner) if found else ():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in list(folder.rglob("__pycache__")):
        shutil.rmtree(path)
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            release.thin(path)
    if folder.name == "app_packages":
        qt.prune(folder, ROOT)
        release.link_frameworks(folder)
