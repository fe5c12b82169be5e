"""Check the engine against reference outputs: `python -m tests.golden [DIR]`, any folder in the layout that README.md tells.

Drafter cases: every round, largest absolute difference of hidden states and logits, tokens equal, candidate sets equal. Pairs: the
text of every prompt, and how many drafts each round kept. A case that misses or is not supported makes the exit code 1.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from mlx_engine import blas

blas.prepare()

import mlx.core as mx

from mlx_engine.drafters.config import parse
from mlx_engine.drafters.dflash import DFlashDrafter
from mlx_engine.engine import Engine
from mlx_engine.errors import UserError
from mlx_engine.events import Commit, Failed, Finished, GenerationRequest
from mlx_engine.pairs.checkpoint import read_config

HERE = Path(__file__).parent
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Result:
    """How one case went: `miss` says what is wrong, empty when nothing is."""

    case: str
    detail: str
    miss: str = ""


def check_drafter(folder: Path) -> Result:
    """All rounds of one drafter case, through one context.

    Raises:
        UserError: the engine does not support this drafter.
    """
    target = mx.load(str(folder / "target.safetensors"))
    table = target["embed_tokens.weight"]
    head = target.get("lm_head.weight", table)
    scale = target.get("embed_scale", mx.array(1.0))
    drafter = DFlashDrafter(
        parse(read_config(folder / "drafter", "drafter")),
        mx.load(str(folder / "drafter" / "model.safetensors")),
        mx.float32,
        embed=lambda tokens: table[tokens] * scale,
        head=lambda hidden: hidden @ head.T,
    )
    stored = mx.load(str(folder / "rounds.safetensors"))
    rounds = json.loads((folder / "rounds.json").read_text(encoding="utf-8"))["rounds"]
    context = drafter.context()
    worst = {"hidden": 0.0, "logits": 0.0}
    wrong: list[str] = []
    for described in rounds:
        name = described["prefix"]
        drafter.inject(context, stored[f"{name}.target_hidden"])
        assert context.position == described["start"], "the context's position is the anchor's"
        block = stored[f"{name}.block_ids"]
        hidden = drafter.hidden(context, block[:1], block.size)
        logits = drafter.logits(hidden)
        for field, value in (("hidden", hidden), ("logits", logits)):
            difference = mx.abs(value - stored[f"{name}.{field}"]).max().item()
            if not difference <= TOLERANCE:  # also when it is not a number
                wrong.append(f"{name}: {field} differ by {difference:.2g}")
            worst[field] = max(worst[field], difference)
        if mx.argmax(logits, axis=-1).tolist() != stored[f"{name}.tokens"].tolist():
            wrong.append(f"{name}: other tokens")
        candidates = stored.get(f"{name}.candidates")
        if candidates is not None:
            best = mx.argsort(-logits, axis=-1)[:, : candidates.shape[1]]
            if mx.sort(best.astype(mx.int32)).tolist() != mx.sort(candidates).tolist():
                wrong.append(f"{name}: other candidates")
    detail = f"{len(rounds)} rounds, largest difference: hidden {worst['hidden']:.1e}, logits {worst['logits']:.1e}"
    return Result(folder.name, detail, "; ".join(wrong))


def check_pair(folder: Path) -> Result:
    """Every prompt of one pair: DFlash's tokens and accepted drafts, and plain decoding's tokens.

    Raises:
        UserError: the engine does not support this pair.
    """
    engine = Engine()
    for _ in engine.load(folder / "target", folder / "drafter"):
        pass
    cases = json.loads((folder / "cases.json").read_text(encoding="utf-8"))["cases"]
    wrong: list[str] = []
    rounds = 0
    for number, case in enumerate(cases):
        for mode in ("dflash", "plain"):
            tokens: list[int] = []
            request = GenerationRequest(prompt_tokens=tuple(case["prompt_ids"]), mode=mode, max_tokens=64)
            for event in engine.generate(request):
                if isinstance(event, Failed):
                    raise UserError(event.error)
                if isinstance(event, Commit):
                    tokens.extend(event.tokens)
                elif isinstance(event, Finished) and mode == "dflash":
                    rounds += event.stats.rounds
                    if event.stats.why_plain:
                        raise UserError(event.stats.why_plain)
                    if list(event.stats.accepted_per_round) != case["accepted"]:
                        wrong.append(f"prompt {number}: other rounds")
            if tokens != case["output_ids"]:
                wrong.append(f"prompt {number}, {mode}: other text")
    return Result(folder.name, f"{len(cases)} prompts, {rounds} rounds", "; ".join(wrong))


def check(folder: Path) -> list[Result]:
    """Every case below `folder`; one that is not supported is a miss that says why."""
    results = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        if (place / "rounds.json").is_file():
            run = check_drafter
        elif (place / "cases.json").is_file():
            run = check_pair
        else:
            continue
        try:
            results.append(run(place))
        except UserError as error:
            results.append(Result(place.name, "", f"not supported: {error}"))
    return results


def main() -> int:
    """Print one line a case; 0 when every case passes."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Check the engine against reference outputs.")
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, metavar="DIR", help="cases (default: those of the tests)")
    folder = parser.parse_args().folder
    results = check(folder) if folder.is_dir() else []
    if not results:
        print(f"{folder} holds no case: a folder with rounds.json or cases.json.", file=sys.stderr)
        return 2
    for result in results:
        print(f"{'MISS' if result.miss else 'ok  '}  {result.case:22} {'; '.join(filter(None, (result.detail, result.miss)))}")
    missed = sum(bool(result.miss) for result in results)
    print(f"{len(results) - missed} of {len(results)} cases pass; tolerance {TOLERANCE:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
