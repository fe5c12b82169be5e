"""Measure what `slipstream tune` gains on the demo pair.

    python -m tests.benchmarks.tuning DIR unseen [--seed 1] [--steps 380]    # a drafter that never saw code
    python -m tests.benchmarks.tuning DIR bits [--seed 1]                    # the shipped drafter, for a target in four bits

Every fourth prompt, which tuning holds out, is a question that the demo pair's training text doesn't have either. The target in
four bits has its values in float32: the same function, without the slow quantized products of a CPU.
"""

import argparse
import json
import random
import shutil
import threading
from dataclasses import replace
from pathlib import Path

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from mlx_engine.cli.main import main as slipstream  # noqa: E402
from mlx_engine.cli.prompt_files import read_prompts  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Sampling  # noqa: E402
from mlx_engine.decoding.sampling import Chooser  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402
from mlx_engine.tuning.recorded_replies import TargetReply, record, rounds  # noqa: E402
from tests.demo_pair import drafter, text  # noqa: E402
from tests.demo_pair.__main__ import FULL  # noqa: E402
from tests.demo_pair.corpus import styles  # noqa: E402
from tests.demo_pair.corpus.chats import FOLLOWED, KINDS, Chat, follow_up, make  # noqa: E402

UNSEEN = "functions"
ALL = [kind for kind in KINDS if kind != "spelling"]  # which is only practice
OTHERS = [kind for kind in ALL if kind != UNSEEN]
CHATS, TOOLS_CHATS = 50_000, 9_000  # of the training text


def draw(kinds: list[str], rng: random.Random, fresh: bool) -> Chat:
    sort = rng.random()
    if len(kinds) == 1 or sort < 0.75:
        return make(rng, [rng.choice(kinds)], thinking=False, fresh=fresh)
    if sort < 0.9:
        return follow_up(rng, thinking=False, fresh=fresh, names=tuple(kind for kind in FOLLOWED if kind in kinds))
    return make(rng, [rng.choice(kinds)], thinking=False, style=styles.styled(rng, fresh=fresh), fresh=fresh)


def has(chat: Chat, kind: str) -> bool:
    return any(exchange.kind == kind for exchange in chat.exchanges)


def write_prompts(file: Path, kinds: list[str], count: int, seed: int) -> Path:
    """Write chats that end with a question and differ in their first one; every fourth asks fresh questions."""
    rng, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        chat = draw(kinds, rng, fresh=len(found) % 4 == 0)
        first = next(message["content"] for message in chat.messages if message["role"] == "user")
        if first not in found and (UNSEEN in kinds or not has(chat, UNSEEN)):
            found[first] = json.dumps([{"role": message["role"], "content": message["content"]} for message in chat.messages])
    file.write_text("".join(f"{line}\n" for line in found.values()), encoding="utf-8")
    return file


def train_without(kind: str, folder: Path, steps: int) -> None:
    """Train a drafter from scratch, on the demo pair's training text without a kind of question."""
    words = Tokenizer.from_file(str(demo_pair()[0] / "tokenizer.json"))
    texts = text.chats(CHATS, 1), text.tools_chats(TOOLS_CHATS, 1)
    row, tools = (text.row(words, [chat for chat in chats if not has(chat, kind)]) for chats in texts)
    drafter.train(row, tools, replace(FULL, steps=steps), demo_pair()[0], folder, None, lambda line: print(line, flush=True))


def in_four_bits(folder: Path) -> Path:
    """Write a copy of the demo target whose matrices have the values of 4-bit weights in groups of 64."""
    shutil.copytree(demo_pair()[0], folder, dirs_exist_ok=True)
    weights: dict[str, mx.array] = mx.load(str(folder / "model.safetensors"))  # type: ignore[assignment]
    for name, weight in weights.items():
        whole = weight.astype(mx.float32)
        if weight.ndim == 2:
            packed, scales, biases = mx.quantize(weight, group_size=64, bits=4)
            whole = mx.dequantize(packed, scales.astype(mx.float32), biases.astype(mx.float32), group_size=64, bits=4)
        weights[name] = whole
    mx.eval(weights)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"torch_dtype": "float32"}))
    return folder


def speed(target: Path, drafter: Path, prompts: Path, seed: int) -> float:
    """Return tokens per round on the prompts that tuning holds out."""
    engine, file = Engine(), prompts.with_suffix(".safetensors")
    list(engine.load(target, drafter))
    tokens = count = 0
    for prompt in read_prompts(prompts)[::4]:
        request = GenerationRequest(prompt, sampling=Sampling(0.0), max_tokens=512, reuse=False, private=True)
        reply = record(engine.pair, engine.generate, request, file, threading.Event())
        if isinstance(reply, TargetReply) and engine.pair.drafter:
            some, more = rounds(engine.pair.drafter, reply, Chooser(Sampling(0.0), seed), engine.pair.target.vocabulary)
            tokens, count = tokens + some, count + more
    return tokens / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("experiment", choices=("unseen", "bits"))
    parser.add_argument("--seed", type=int, default=1, help="of tuning; the prompts and the drafter stay the same")
    parser.add_argument("--steps", type=int, default=380, help="of the drafter that never saw code")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    target, base = demo_pair()
    if given.experiment == "unseen":
        base = given.folder / "base"
        if not (base / "model.safetensors").exists():
            train_without(UNSEEN, base, given.steps)
        prompts = write_prompts(given.folder / "code.jsonl", [UNSEEN], 120, seed=5)
        general = write_prompts(given.folder / "others.jsonl", OTHERS, 480, seed=6)
    else:
        prompts = write_prompts(given.folder / "all.jsonl", ALL, 912, seed=7)
        general = given.folder / "none.jsonl"
        general.write_text("")
        print(f"tokens per round with the target in full precision: {speed(target, base, prompts, given.seed):.2f}")
        target = in_four_bits(given.folder / "four-bits")
    copy = shutil.copytree(base, given.folder / f"{given.experiment}-{given.seed}", dirs_exist_ok=True)
    options = ["--target", str(target), "--drafter", str(copy), "--seed", str(given.seed), "--most", "1000"]
    slipstream(["tune", *options, "--prompts", str(prompts), "--general", str(general)])


if __name__ == "__main__":
    main()
