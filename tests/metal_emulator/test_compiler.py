"""Unsuitable compilers are left out, and lines are found on Linux and on a Mac."""

import re
import warnings
from pathlib import Path

import pytest

from tests.metal_emulator import compiler

# name -> (__VERSION__, whether it is clang, assembly of a struct copy)
GCC = ("12.2.0", False, "call __tsan_write_range")
CLANG_14 = ("Debian Clang 14.0.6", True, "jmp memcpy@PLT")
CLANG_19 = ("Debian Clang 19.1.7", True, "jmp __tsan_memcpy@PLT")
APPLE_CLANG = ("Apple LLVM 17.0.0", True, "b ___tsan_memcpy")
GCC_11 = ("11.4.0", False, "")


def install(folder: Path, name: str, version: str, is_clang: bool, assembly: str) -> None:
    """Write a script that answers like a compiler.

    Without assembly, it rejects the emulator's flags.
    """
    macros = f'#define __VERSION__ "{version}"' + ("\n#define __clang__ 1" if is_clang else "")
    compiled = f"echo '{assembly}'" if assembly else "echo 'error: unrecognized option' >&2; exit 1"
    script = folder / name
    script.write_text(f"#!/bin/sh\ncase \"$*\" in *-dM*) echo '{macros}' ;; *) {compiled} ;; esac\n")
    script.chmod(0o755)


@pytest.mark.parametrize(
    ("installed", "used", "problem"),
    [
        ({"g++": GCC}, ["g++"], None),
        ({"clang++": CLANG_19}, ["clang++"], None),
        ({"g++": GCC, "clang++": CLANG_19}, ["g++", "clang++"], None),
        ({"g++": GCC, "clang++": CLANG_14}, ["g++"], r"clang\+\+ \(Debian Clang 14.0.6\) can't be used.*misses copied structs"),
        ({"g++": GCC_11, "clang++": CLANG_19}, ["clang++"], r"g\+\+ \(11.4.0\) can't be used.*unrecognized option"),
        ({"clang++": CLANG_14, "clang++-19": CLANG_19}, ["clang++-19"], None),
        ({"g++": GCC_11, "g++-9": GCC_11, "g++-12": GCC}, ["g++-12"], None),
        ({"g++": APPLE_CLANG, "clang++": APPLE_CLANG}, ["g++"], None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, (dict, list)) else "",
)
def test_suitable_compilers_are_used(installed, used, problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answers in installed.items():
        install(tmp_path, name, *answers)
    monkeypatch.setenv("PATH", str(tmp_path))
    with warnings.catch_warnings(record=True) as caught:
        found = compiler.compilers.__wrapped__()
    assert [one.command[0] for one in found] == used
    assert len(caught) == bool(problem)
    assert not problem or re.search(problem, str(caught[0].message))


@pytest.mark.parametrize("installed", [{}, {"clang++": CLANG_14}, {"g++": GCC_11}])
def test_without_a_suitable_compiler_the_error_says_which_to_install(installed, tmp_path, monkeypatch) -> None:
    for name, answers in installed.items():
        install(tmp_path, name, *answers)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"need .* or later. To install .*: (sudo apt-get|xcode-select)") as raised:
        compiler.compilers.__wrapped__()
    assert all(f"{name} (" in str(raised.value) for name in installed)


def test_a_command_that_is_only_a_stub_is_no_compiler(tmp_path, monkeypatch) -> None:
    """Without its command line tools, macOS has g++ and clang++ that only offer them."""
    (tmp_path / "g++").write_text("#!/bin/sh\necho 'xcode-select: note: no developer tools were found' >&2\nexit 1\n")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"^The Metal kernel tests need"):
        compiler.compilers.__wrapped__()


@pytest.mark.parametrize(
    "frames",
    [
        f"{compiler.MACHINE}/vectors.h:7\n{compiler.CACHE}/metal/verify.metal:43 (discriminator 2)\n{compiler.CACHE}/launch:1\n",
        f"vec (in 1f.so) ({compiler.MACHINE}/vectors.h:7)\nverify(float*) (in 1f.so) ({compiler.CACHE}/metal/verify.metal:43)\n",
    ],
    ids=["addr2line", "atos"],
)
def test_the_innermost_line_of_the_kernel_is_found(frames) -> None:
    assert compiler.innermost_line(frames) == "metal/verify.metal:43"


@pytest.mark.parametrize("frames", ["??:0\n", "??:?\n", "emulator_kernel (in 1f.so) + 16\n", ""])
def test_an_unknown_line_is_a_question_mark(frames) -> None:
    assert compiler.innermost_line(frames) == "?"
