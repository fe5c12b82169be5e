"""Check the engine against reference outputs: `python -m tests.golden [DIR]`, any folder in the layout that README.md tells.

Drafter cases: every round, largest absolute difference of hidden states, logits and scores; tokens and candidate sets equal. Pairs:
features, and of every prompt the text, the drafts and how many of them each round kept, at every block size that is stored, and the
text with plain steps in between. Targets with images: pixels, features, positions, passes. Whatever is in DIR and could not
be checked is a miss; a miss makes the exit code 1.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.hardware import blas

blas.prepare()

from mlx_engine.contract.errors import UserError
from tests.golden import drafter_case, pair_case, vision_case, vision_features

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Result:
    """How one case went: `miss` says what is wrong, empty when nothing is."""

    case: str
    detail: str
    miss: str = ""


def check_case(folder: Path, thorough: bool = True) -> Result:
    """One case; one that is not supported, damaged or no case at all is a miss that says why."""
    try:
        if (folder / "rounds.json").is_file():
            detail, wrong = drafter_case.check(folder)
        elif (folder / "arrays.safetensors").is_file():
            detail, wrong = vision_case.check(folder)
        elif (folder / "cases.json").is_file():
            detail, wrong = pair_case.check(folder, thorough)
        else:
            return Result(folder.name, "", "not checked: it has neither rounds.json nor cases.json")
    except UserError as error:
        return Result(folder.name, "", f"not supported: {error}")
    except Exception as error:  # a damaged case may fail anywhere, and is never one that passed
        return Result(folder.name, "", f"not checked: {type(error).__name__}: {error}")
    return Result(folder.name, detail, "; ".join(wrong))


def check(folder: Path) -> list[Result]:
    """Every case below `folder`, or the case that it is itself.

    Raises:
        OSError: the folder cannot be looked into.
    """
    if (folder / "rounds.json").is_file() or (folder / "cases.json").is_file():
        return [check_case(folder)]
    others = (".", "__", vision_features.PICTURES)
    places = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(others))
    return [result for place in places for result in (check(place) if any(place.glob("*/cases.json")) else [check_case(place)])]


def main(argv: list[str] | None = None) -> int:
    """Print one line a case; 0 when every case passes."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Check the engine against reference outputs.")
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, metavar="DIR", help="cases (default: those of the tests)")
    folder = parser.parse_args(argv).folder
    try:
        results = check(folder)
    except OSError as error:
        print(f"{folder} cannot be looked into: {error.strerror}.", file=sys.stderr)
        return 2
    if not results:
        print(f"{folder} holds no case: a folder with rounds.json or cases.json.", file=sys.stderr)
        return 2
    for result in results:
        print(f"{'MISS' if result.miss else 'ok  '}  {result.case:22} {'; '.join(filter(None, (result.detail, result.miss)))}")
    missed = sum(bool(result.miss) for result in results)
    print(f"{len(results) - missed} of {len(results)} cases pass; tolerance {drafter_case.TOLERANCE:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
