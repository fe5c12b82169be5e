"""A bundle's Mach-O files: architecture, minimum system, libraries, and signature.

macholib reads them on any system.
"""

from __future__ import annotations

import plistlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from macholib import mach_o
from macholib.MachO import MachO, MachOHeader

ARM64 = 0x0100000C
MAGICS = {bytes.fromhex(one) for one in ("cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe", "cafebabf")}
RUNTIME_FLAG = 0x10000
DYLIBS = (mach_o.LC_LOAD_DYLIB, mach_o.LC_LOAD_WEAK_DYLIB, mach_o.LC_REEXPORT_DYLIB, mach_o.LC_LOAD_UPWARD_DYLIB)
SIGNATURE, CODE_DIRECTORY, ENTITLEMENTS = 0xFADE0CC0, 0xFADE0C02, 0xFADE7171


@dataclass
class Program:
    """A Mach-O file of the bundle."""

    path: Path
    headers: list[MachOHeader]

    @property
    def kinds(self) -> set[int]:
        """File types, such as MH_EXECUTE."""
        return {header.header.filetype for header in self.headers}

    @property
    def architectures(self) -> set[int]:
        return {header.header.cputype for header in self.headers}

    def commands(self, *kinds: int) -> Iterator[tuple[object, bytes]]:
        for header in self.headers:
            for load, command, data in header.commands:
                if load.cmd in kinds:
                    yield command, data

    def placed(self, kind: int) -> Iterator[tuple[MachOHeader, object]]:
        """Yield commands with offsets, and the header that the offsets are relative to."""
        for header in self.headers:
            for load, command, _ in header.commands:
                if load.cmd == kind:
                    yield header, command

    @property
    def min_os(self) -> tuple[int, int]:
        """Minimum system version; (0, 0) if the file declares none."""
        newest = (0, 0)
        for command, _ in self.commands(mach_o.LC_BUILD_VERSION, mach_o.LC_VERSION_MIN_MACOSX):
            version = command.minos if hasattr(command, "minos") else command.version
            newest = max(newest, (int(version) >> 16, int(version) >> 8 & 255))
        return newest

    def texts(self, *kinds: int) -> list[str]:
        return [data.rstrip(b"\0").decode() for _, data in self.commands(*kinds)]

    @cached_property
    def signature(self) -> dict[int, bytes]:
        """Blobs of the signature by magic number; empty if unsigned."""
        data = self.path.read_bytes()
        for header, command in self.placed(mach_o.LC_CODE_SIGNATURE):
            start = header.offset + command.dataoff
            blob = data[start : start + command.datasize]
            magic, _, count = struct.unpack_from(">III", blob)
            if magic != SIGNATURE:
                return {}
            offsets = [struct.unpack_from(">II", blob, 12 + 8 * number)[1] for number in range(count)]
            parts = [(*struct.unpack_from(">II", blob, offset), offset) for offset in offsets]
            return {kind: blob[offset : offset + length] for kind, length, offset in parts}
        return {}

    @property
    def hardened(self) -> bool:
        directory = self.signature.get(CODE_DIRECTORY, b"")
        return len(directory) > 16 and bool(struct.unpack_from(">I", directory, 12)[0] & RUNTIME_FLAG)

    @property
    def entitlements(self) -> dict:
        blob = self.signature.get(ENTITLEMENTS, b"")
        return plistlib.loads(blob[8:]) if len(blob) > 8 else {}


def open_program(path: Path) -> Program | None:
    """Return the file as a program, or None if it isn't one.

    Raises:
        ValueError: the program is damaged.
    """
    with path.open("rb") as file:
        head = file.read(8)
    # Java classes have the same magic number, but no universal binary has more than a few parts
    if head[:4] not in MAGICS or (head[:4] == b"\xca\xfe\xba\xbe" and struct.unpack(">I", head[4:8])[0] > 16):
        return None
    try:
        return Program(path, MachO(str(path)).headers)
    except Exception as error:
        raise ValueError(f"can't be read as a program: {error}") from error
