"""Mutations of a pair's JSON files, and requests with any texts: each must run, or be refused in words of our own.

`python -m tests.mlx_engine.loading.mutations FIRST LAST` runs the mutations with these numbers and prints one line for each.
"""

import copy
import faulthandler
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Failed, Finished, PairInfo
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.engine.engine import Engine
from tests.mlx_engine import tiny_families

MEMORY = 12 << 30  # bytes of address space, so that a huge size is an error and not a full machine
FILES = ("target/config.json",) * 8 + ("drafter/config.json",) * 4
FILES += ("target/tokenizer_config.json", "target/tokenizer.json", "target/generation_config.json") * 2
TOKENIZER_CONFIG = {
    "chat_template": "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}",
    "bos_token": None,
    "pad_token": {
        "__type": "AddedToken",
        "content": "t126",
        "special": True,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
    },
    "extra_special_tokens": {},
    "added_tokens_decoder": {"127": {"content": "t127", "special": True}},
    "add_bos_token": False,
    "padding_side": "left",
}
GENERATION_CONFIG = {
    "do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "repetition_penalty": 1.05,
    "eos_token_id": [127, 126], "bos_token_id": 1, "transformers_version": "4.51.0",
}  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 5, 7, 9, 128, 1000, 65536, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63),
    10**30, 0.0, -0.5, 0.5, 1.5, 1e-300, 1e308, float("nan"), float("inf"), "", "a", "7", "bfloat16", "é\ud800", [], [[]], [0],
    [-1], [None], ["a"], [1, 2, 3], list(range(99)), {}, {"a": 1}, {"content": 3}, {"type": 3},
]  # fmt: skip
TEXTS = (
    "", " ", "t3 t4", "é", "\U0001d11e", "\ud800", "t3 \udfff t4", "\udc80\ud800", "\0", "\x1b[2J", "\u202e", "\r\n", "[" * 10_000,
    "{" * 99, "null", "NaN", "3", "[]", "{}", '{"type": 3}', '{"type": "object"}', '{"enum": ["\ud800"]}', '{"pattern": "(("}',
    '{"const": NaN}', '{"$ref": "#"}',
    '{"\\ud800": 1}', "required", "f", "t" * 9999,
)  # fmt: skip
PARAMETERS: tuple[dict[str, Any], ...] = (
    {},
    {"type": "object"},
    {"type": 3},
    {"\ud800": 1},
    {"const": float("nan")},
    {"$ref": "#"},
)
# What MLX, Python, and other libraries say, and we never do
FOREIGN = re.compile(
    r"\[(?!null|true|false)[a-z_]\w*\] |"
    r"std::|dims must|' object|NoneType|not subscriptable|unhashable|argument|Traceback|Error\b|Expected|broadcast|"
    "pybind"
)


@cache
def base(family: str, bits: int | None) -> Path:
    """A folder with an unchanged pair of a family."""
    folder = Path(tempfile.mkdtemp(dir=os.environ["MUTATIONS"]))
    target = tiny_families.save(family, folder / "target", bits)
    tiny_families.save_drafter(family, folder / "drafter", 4)
    own = json.loads((target / "tokenizer_config.json").read_text())
    (target / "tokenizer_config.json").write_text(json.dumps(own | TOKENIZER_CONFIG))
    (target / "generation_config.json").write_text(json.dumps(GENERATION_CONFIG))
    return folder


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else list(range(min(len(value), 8))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def mutated(draw: random.Random, text: str) -> tuple[bytes, str]:
    """Return a changed file, and what was changed."""
    data = text.encode()
    match draw.randrange(12):
        case 0:
            size = draw.randrange(len(data))
            return data[:size], f"cut to {size} bytes"
        case 1:
            at, noise = draw.randrange(len(data)), draw.randbytes(draw.randint(1, 8))
            return data[:at] + noise + data[at + len(noise) :], f"bytes {at}: {noise!r}"
        case 2:
            whole = draw.choice([b"", b"[]", b"3", b"null", b'"a"', b"{}", b"[" * 100_000, draw.randbytes(99)])
            return whole, f"the whole file: {whole[:20]!r}"
    content, done = json.loads(text), []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        spots = places(content)
        holder, key = draw.choice(spots)
        match draw.randrange(8):
            case 0:
                done.append(f"{key} deleted")
                del holder[key]
            case 1:
                other, second = draw.choice(spots)
                done.append(f"{key} and {second} swapped")
                one, two = copy.deepcopy(holder[key]), copy.deepcopy(other[second])
                holder[key], other[second] = two, one
            case 2:
                done.append(f"{key} nested")
                holder[key] = draw.choice([[holder[key]], {str(key): holder[key]}])
            case 3 if type(holder[key]) in (int, float):
                holder[key] = draw.choice([-1, 2, 0.5, 3, 1000]) * holder[key] + draw.choice([0, 0, 1, -1])
                done.append(f"{key} = {holder[key]}")
            case _:
                holder[key] = copy.deepcopy(draw.choice(VALUES))
                done.append(f"{key} = {holder[key]!r:.60}")
    return json.dumps(content).encode("utf-8", "surrogatepass"), ", ".join(done)


def worded(draw: random.Random) -> GenerationRequest:
    """Return a request with any texts in some of its fields."""
    some = {name: draw.choice(TEXTS) for name in ("continue_from", "continue_thinking", "tool_choice", "schema", "effort", "chat")}
    some["stop"] = tuple(draw.choices(TEXTS, k=draw.randint(1, 3)))
    some["tools"] = tuple(ToolSpec(*draw.choices(TEXTS, k=2), draw.choice(PARAMETERS)) for _ in range(draw.randint(1, 3)))
    fields: dict[str, Any] = {name: some[name] for name in draw.sample(sorted(some), draw.choice((0, 1, 1, 2, 3)))}
    if draw.random() < 0.2:
        return GenerationRequest(prompt_text=draw.choice(TEXTS), max_tokens=4, seed=1, **fields)

    def text() -> str:
        return draw.choice(TEXTS) if draw.random() < 0.5 else "t3 t4"

    calls = (ToolCall(text(), text(), text()),) if draw.random() < 0.3 else ()
    messages = [Message("user", text()), Message("assistant", text(), text(), calls), Message("tool", text(), call_id=text())]
    messages = messages[: draw.randint(1, 3)] if calls else messages[:2]
    return GenerationRequest((Message("system", text()), *messages, Message("user", text())), max_tokens=4, seed=1, **fields)


def write(number: int, folder: Path) -> tuple[Path | None, str, str]:
    """Write the pair with mutation `number`. Returns the drafter's folder if the pair has one, the file, and what was done."""
    draw = random.Random(number)
    family, bits, name = draw.choice(tiny_families.FAMILIES), draw.choice((None, None, None, 8)), draw.choice(FILES)
    shutil.copytree(base(family, bits), folder, copy_function=os.link)
    content, change = mutated(draw, (folder / name).read_text())
    (folder / name).unlink()
    (folder / name).write_bytes(content)
    drafter = folder / "drafter" if name.startswith("drafter") or draw.random() < 0.5 else None
    return drafter, name, f"{family}, {bits or 32} bits, {'with' if drafter else 'no'} drafter, {name}: {change}"


def outcome(folder: Path, drafter: Path | None, request: GenerationRequest | None = None) -> str:
    """Load the pair and generate, in reply to `request` only if there is one: "ran", or the message of its refusal.

    Raises:
        Exception: anything but a `UserError`, which is a bug.
    """
    engine = Engine()
    try:
        (info,) = [event for event in engine.load(folder / "target", drafter) if isinstance(event, PairInfo)]
        ask = {"max_tokens": 4, "seed": 1, "thinking": True}
        usual = (
            GenerationRequest(prompt_tokens=(1, 2, 3), **ask),
            GenerationRequest((Message("user", "t3 t4"),), sampling=info.sampling, **ask),
        )
        for each in (request,) if request else usual:
            *_, end = engine.generate(each)
            assert isinstance(end, Finished | Failed)
            if isinstance(end, Failed):
                return end.message
        return "ran"
    except UserError as error:
        return str(error)
    finally:
        engine.unload()


def problem(number: int) -> str:
    """Run one mutation. Returns what is wrong with its outcome; empty if nothing is."""
    folder = Path(os.environ["MUTATIONS"], str(number))
    request = worded(random.Random(number)) if number % 3 == 0 else None
    if request:
        family = random.Random(number).choice(tiny_families.FAMILIES)
        shutil.copytree(base(family, None), folder, copy_function=os.link)
        drafter, name, change = None, "", f"{family}: {request}"
    else:
        drafter, name, change = write(number, folder)
    print(f"{number}: {change}".encode("ascii", "backslashreplace").decode(), flush=True)
    if os.environ.get("MUTATIONS_CRASH") == str(number):
        os.kill(os.getpid(), signal.SIGSEGV)
    try:
        found = outcome(folder, drafter, request)
    except Exception:
        return " | ".join(traceback.format_exc().splitlines()[-6:])
    finally:
        shutil.rmtree(folder)
    print(f"   {found!a}", flush=True)
    quotes = re.sub("“[^”]*”", "“”", found)
    if FOREIGN.search(quotes):
        return f"words that are not ours: {found}"
    if "config.json" in name and "tokenizer" not in name and "generation" not in name:
        return ""
    return f"blamed on the model's config: {found}" if re.search(r"(?<!_)config\.json", found) else ""


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        if wrong := problem(each):
            print(f"FAILED {wrong}".encode("ascii", "backslashreplace").decode(), flush=True)
