"""Compare replies to images with mlx-vlm 0.7.10: same target and images, one process, interleaved.

    tests/peers/run.sh --images [--runs 30]

The targets are two random Qwen3-VL with deepstack, and the reference Qwen3.5, in float32. Times of Qwen3.5 tell little about Macs:
without their kernel for its gated delta, mlx-vlm computes prompts in chunks, and mlx-lm token by token. Each run has an image that
neither program has seen, as a PNG file. Prints medians of the time from the request to the first token, and of its ratios in the
pairs of runs: in seconds, and in seconds of processor time, which other work on the computer disturbs least. Our child process,
which decodes images, counts. The ratio of decoding speeds, after an image and after text of the same length, is one of processor
time.
"""

import argparse
import json
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
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
LARGE_TEXT = {
    "model_type": "qwen3_vl_text",
    "vocab_size": 288,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "eos_token_id": 258,
    "pad_token_id": 256,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 7,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "rope_theta": 1e6,
    "rope_scaling": {"rope_type": "default", "mrope_interleaved": True, "mrope_section": [12, 10, 10]},
}
LARGE_TOWER = {
    "model_type": "qwen3_vl",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_heads": 6,
    "depth": 6,
    "out_hidden_size": 768,
    "deepstack_visual_indexes": [1, 3],
}
TINY_TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
TINY_TOWER = {"hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "depth": 4, "out_hidden_size": 64}
FILES = ("config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
Times = tuple[float, float]  # seconds, and those of processor time
Reply = Callable[[Path], tuple[Times, list[int]]]  # until the first token, and the tokens


def copy_reference(folder: Path) -> Path:
    """Copy the reference Qwen3.5."""
    folder.mkdir()
    for name in (*FILES, "model.safetensors"):  # mlx-vlm would load the reference outputs as weights
        shutil.copy(HERE / "vision" / "qwen3_5" / name, folder)
    return folder


def write_random(folder: Path, text: dict[str, Any], tower: dict[str, Any], pixels: int) -> Path:
    """Write a random Qwen3-VL, whose images have up to this many pixels."""
    from mlx_vlm.models import qwen3_vl  # type: ignore[import-not-found]

    copy_reference(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"]}
    config["text_config"] = LARGE_TEXT | text
    config["vision_config"] |= LARGE_TOWER | tower
    settings = json.loads((folder / "preprocessor_config.json").read_text(encoding="utf-8"))
    settings["size"] = {"shortest_edge": 4096, "longest_edge": pixels}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    parts = {"text_config": qwen3_vl.TextConfig, "vision_config": qwen3_vl.VisionConfig}
    made = {name: kind.from_dict(config[name]) for name, kind in parts.items()}
    model = qwen3_vl.Model(qwen3_vl.ModelConfig.from_dict(config | made))
    weights = dict(tree_flatten(tree_map(lambda array: array.astype(mx.float32), model.parameters())))
    head = "language_model.lm_head.weight"
    weights[head] = mx.where(mx.arange(len(weights[head]))[:, None] < 256, weights[head], 0)  # the rest has no text
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    return folder


def now() -> Times:
    """Return the time, and the processor time of this process and its children."""
    ticks = 0
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.perf_counter(), time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def since(began: Times) -> Times:
    return now()[0] - began[0], now()[1] - began[1]


def ours(engine: Engine) -> Reply:
    def reply(image: Path) -> tuple[Times, list[int]]:
        began, first, tokens = now(), None, list[int]()
        shown = Message("user", FIRST, images=(AttachedImage(0, image.read_bytes(), image.name),))
        for event in engine.generate(_request((shown,))):
            if isinstance(event, Commit):
                first = first or since(began)
                tokens += event.tokens
        assert first is not None
        return first, tokens

    return reply


def theirs(folder: Path) -> Reply:
    from mlx_vlm import load, stream_generate  # type: ignore[import-not-found]
    from mlx_vlm.prompt_utils import apply_chat_template  # type: ignore[import-not-found]

    model, processor = load(str(folder))
    processor.tokenizer.stopping_criteria.eos_token_ids = []

    def reply(image: Path) -> tuple[Times, list[int]]:
        began, first, tokens = now(), None, list[int]()
        prompt = apply_chat_template(processor, model.config, FIRST, num_images=1)
        replies = stream_generate(model, processor, prompt, image=[str(image)], max_tokens=TOKENS, temperature=0.0)
        for part in islice(replies, TOKENS):
            first = first or since(began)
            tokens.append(int(part.token))
        assert first is not None
        return first, tokens

    return reply


def _request(messages: tuple[Message, ...], limit: int = TOKENS) -> GenerationRequest:
    return GenerationRequest(messages, mode="plain", max_tokens=limit, ignore_eos=True, reuse=False)


def images(folder: Path, count: int) -> list[Path]:
    """Write images with different pixels."""
    folder.mkdir()
    draw, paths = np.random.default_rng(0), []
    for number in range(count):
        coarse = Image.fromarray(draw.integers(0, 256, (24, 32, 3), np.uint8))
        paths.append(folder / f"{number}.png")
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(paths[-1])
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


def compare(name: str, folder: Path, place: Path, runs: int) -> dict[str, Any]:
    engine = Engine()
    for _ in engine.load(folder, None):
        pass
    replies = {"ours": ours(engine), "mlx-vlm": theirs(folder)}
    first, same = {each: list[Times]() for each in replies}, 0
    for number, path in enumerate(images(place / f"{name} images", runs + 2)):
        found = {}
        for each in (sorted if number % 2 else list)(replies):
            times, found[each] = replies[each](path)
            if number > 1:
                first[each].append(times)
        same += found["ours"] == found["mlx-vlm"]
    shown, told = after_an_image(engine, sorted((place / f"{name} images").iterdir())[: max(4, runs // 3)])
    return {
        "target": name,
        "same": f"{same} of {runs + 2}",
        **{
            f"first_token_{name}": {
                **{each: median(times[at] for times in values) for each, values in first.items()},
                "ratio": median(a[at] / b[at] for a, b in zip(first["ours"], first["mlx-vlm"], strict=True)),
            }
            for at, name in enumerate(("s", "processor_s"))
        },
        "decode_after_image": median(b / a for a, b in zip(shown, told, strict=True)),
        "load_average": os.getloadavg()[0],
    }


TARGETS: dict[str, Callable[[Path], Path]] = {
    "Qwen3-VL, tiny": partial(write_random, text=TINY_TEXT, tower=TINY_TOWER, pixels=24_576),
    "Qwen3-VL, 300 MB": partial(write_random, text={}, tower={}, pixels=262_144),
    "Qwen3.5, tiny": copy_reference,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/peers/run.sh --images", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=30, help="counted images of each target (default 30)")
    parser.add_argument("--only", choices=[*TARGETS], help="one of the targets")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for name, write in TARGETS.items():
            if asked.only in (None, name):
                print(json.dumps(compare(name, write(place / name), place, asked.runs)), flush=True)


if __name__ == "__main__":
    main()
