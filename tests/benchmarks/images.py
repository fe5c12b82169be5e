"""Compare replies to images with mlx-vlm 0.7.10: same target and images, one process, interleaved.

    tests/peers/run.sh --images [--runs 30]

The targets are the reference Qwen3.5 and a random one of 300 MB, in float32. Each run has an image that neither program has seen,
as a PNG file. Prints the median seconds from the request to the first token, the median ratio of the pairs of runs, and the
processor time of this process per token after an image and after text of the same length, which other work on the computer disturbs
least. The programs must choose the same tokens.
"""

import argparse
import json
import os
import shutil
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
import numpy as np  # noqa: E402
from mlx.utils import tree_flatten, tree_map  # noqa: E402
from PIL import Image  # noqa: E402

from mlx_engine.contract.events import Commit  # noqa: E402
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from tests.golden.__main__ import HERE  # noqa: E402

TOKENS, DECODED = 9, 33  # of a reply; of one whose decoding is timed
FIRST = "What is in the picture?"
LARGE_TEXT = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 64}
LARGE_TOWER = {"hidden_size": 384, "intermediate_size": 1536, "num_heads": 6, "depth": 6, "out_hidden_size": 768}
FILES = ("config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
Reply = Callable[[Path], tuple[float, list[int]]]  # seconds to the first token, and the tokens


def write_tiny(folder: Path) -> Path:
    """Copy the reference target."""
    folder.mkdir()
    for name in (*FILES, "model.safetensors"):  # mlx-vlm would load the reference outputs as weights
        shutil.copy(HERE / "vision" / "qwen3_5" / name, folder)
    return folder


def write_large(folder: Path) -> Path:
    """Write a random target of 300 MB, whose images have up to 256 tokens."""
    from mlx_vlm.models import qwen3_5  # type: ignore[import-not-found]

    write_tiny(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rope = config["text_config"]["rope_parameters"] | {"mrope_section": [8, 4, 4]}
    linear = {"linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 64}
    config["text_config"] |= LARGE_TEXT | linear | {"rope_parameters": rope}
    config["vision_config"] |= LARGE_TOWER
    settings = json.loads((folder / "preprocessor_config.json").read_text(encoding="utf-8"))
    settings["size"] = {"shortest_edge": 65_536, "longest_edge": 262_144}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    parts = {"text_config": qwen3_5.TextConfig, "vision_config": qwen3_5.VisionConfig}
    made = {name: kind.from_dict(config[name]) for name, kind in parts.items()}
    model = qwen3_5.Model(qwen3_5.ModelConfig.from_dict(config | made))
    weights = dict(tree_flatten(tree_map(lambda array: array.astype(mx.float32), model.parameters())))
    head = "language_model.lm_head.weight"
    weights[head] = mx.where(mx.arange(len(weights[head]))[:, None] < 256, weights[head], 0)  # the rest has no text
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    return folder


def ours(engine: Engine) -> Reply:
    def reply(image: Path) -> tuple[float, list[int]]:
        began, first, tokens = time.perf_counter(), 0.0, list[int]()
        shown = Message("user", FIRST, images=(AttachedImage(0, image.read_bytes(), image.name),))
        for event in engine.generate(_request((shown,))):
            if isinstance(event, Commit):
                first = first or time.perf_counter() - began
                tokens += event.tokens
        return first, tokens

    return reply


def theirs(folder: Path) -> Reply:
    from mlx_vlm import load, stream_generate  # type: ignore[import-not-found]
    from mlx_vlm.prompt_utils import apply_chat_template  # type: ignore[import-not-found]

    model, processor = load(str(folder))
    processor.tokenizer.stopping_criteria.eos_token_ids = []

    def reply(image: Path) -> tuple[float, list[int]]:
        began, first, tokens = time.perf_counter(), 0.0, list[int]()
        prompt = apply_chat_template(processor, model.config, FIRST, num_images=1)
        replies = stream_generate(model, processor, prompt, image=[str(image)], max_tokens=TOKENS, temperature=0.0)
        for part in islice(replies, TOKENS):
            first = first or time.perf_counter() - began
            tokens.append(int(part.token))
        return first, tokens

    return reply


def _request(messages: tuple[Message, ...], limit: int = TOKENS) -> GenerationRequest:
    return GenerationRequest(messages, mode="plain", max_tokens=limit, ignore_eos=True, reuse=False)


def images(folder: Path, count: int, size: tuple[int, int]) -> list[Path]:
    """Write images with different pixels."""
    folder.mkdir()
    draw, paths = np.random.default_rng(0), []
    for number in range(count):
        coarse = Image.fromarray(draw.integers(0, 256, (24, 32, 3), np.uint8))
        paths.append(folder / f"{number}.png")
        coarse.resize(size, Image.Resampling.BICUBIC).save(paths[-1])
    return paths


def seconds_per_token(engine: Engine, messages: tuple[Message, ...]) -> float:
    """Return the processor time of this process per decoded token."""
    began, count = 0.0, 0
    for event in engine.generate(_request(messages, DECODED)):
        if isinstance(event, Commit):
            began, count = began or time.process_time(), count + len(event.tokens)
    return (time.process_time() - began) / (count - 1)


def after_an_image(engine: Engine, paths: list[Path]) -> tuple[list[float], list[float]]:
    """Return seconds per token after images, and after texts of the same length."""
    shown, told = list[float](), list[float]()
    for path in paths:
        seeing = (Message("user", FIRST, images=(AttachedImage(0, path.read_bytes(), path.name),)),)
        length = next(iter(engine.generate(_request(seeing, 1)))).total  # type: ignore[union-attr]
        short = next(iter(engine.generate(_request((Message("user", FIRST),), 1)))).total  # type: ignore[union-attr]
        text = (Message("user", FIRST + "a" * (length - short)),)  # each letter is a token
        assert next(iter(engine.generate(_request(text, 1)))).total == length  # type: ignore[union-attr]
        for found, messages in ((shown, seeing), (told, text)):
            found.append(seconds_per_token(engine, messages))
    return shown, told


def compare(name: str, folder: Path, place: Path, size: tuple[int, int], runs: int) -> dict[str, Any]:
    engine = Engine()
    for _ in engine.load(folder, None):
        pass
    replies = {"ours": ours(engine), "mlx-vlm": theirs(folder)}
    first, same = {each: list[float]() for each in replies}, 0
    for number, path in enumerate(images(place / f"{name} images", runs + 2, size)):
        found = {}
        for each in (sorted if number % 2 else list)(replies):
            seconds, found[each] = replies[each](path)
            if number > 1:
                first[each].append(seconds)
        same += found["ours"] == found["mlx-vlm"]
    shown, told = after_an_image(engine, sorted((place / f"{name} images").iterdir())[: max(4, runs // 3)])
    return {
        "target": name,
        "same": f"{same} of {runs + 2}",
        "first_token_s": {each: median(values) for each, values in first.items()},
        "first_token_ratio": median(a / b for a, b in zip(first["ours"], first["mlx-vlm"], strict=True)),
        "decode_after_image": median(b / a for a, b in zip(shown, told, strict=True)),
        "load_average": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/peers/run.sh --images", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=30, help="counted images of each target (default 30)")
    parser.add_argument("--only", choices=["tiny", "300 MB"], help="one of the targets")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for name, write, size in (("tiny", write_tiny, (180, 130)), ("300 MB", write_large, (640, 480))):
            if asked.only in (None, name):
                print(json.dumps(compare(name, write(place / name), place, size, asked.runs)), flush=True)


if __name__ == "__main__":
    main()
