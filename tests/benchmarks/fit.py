"""Compare the memory predicted before a download with the peak that a pair reaches.

    python -m tests.benchmarks.fit [--only NAME] [--context 1024 --context 4096] [--json]

Every case runs in its own process: it loads the pair, reads a prompt of the context's length minus a short reply, and generates
that reply in blocks of the drafter's width. The measured peak is MLX's own count of simultaneously held bytes. Besides the demo
pair there are random pairs of four families with at least 200 MB of weights, built from mlx-lm's config classes in a temporary
folder.
"""

import argparse
import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
from mlx.utils import tree_flatten  # noqa: E402
from mlx_lm.utils import _get_classes, quantize_model  # noqa: E402

from mlx_engine.contract.machine_events import MachineFacts  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.hardware import memory  # noqa: E402
from mlx_engine.models.files.checkpoint import read_config, weight_bytes  # noqa: E402
from mlx_engine.models.fit import predict_fit  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402
from tests.benchmarks.memory import ask  # noqa: E402

REPLY = 32  # tokens; memory doesn't grow after them
MB = 1_000_000


@dataclass(frozen=True)
class Case:
    """A random pair: target config, weight bits, and which drafter layers use a sliding window."""

    config: dict[str, Any]
    bits: int = 16
    drafter: tuple[bool, ...] = (False, False)


_BASE = {
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 16384,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
}
_EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768, "shared_expert_intermediate_size": 768}
CASES = {
    "qwen3": Case({**_BASE, "model_type": "qwen3"}),
    "qwen3_moe at 4 bits": Case(
        {
            **_BASE,
            **_EXPERTS,
            "model_type": "qwen3_moe",
            "num_experts": 16,
            "num_hidden_layers": 10,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "norm_topk_prob": True,
        },
        bits=4,
    ),
    "qwen3_5": Case(
        {
            "model_type": "qwen3_5",
            "vocab_size": _BASE["vocab_size"],
            "text_config": {
                **_BASE,
                "model_type": "qwen3_5_text",
                "num_hidden_layers": 8,
                "full_attention_interval": 2,
                "head_dim": 128,
                "linear_num_value_heads": 8,
                "linear_num_key_heads": 4,
                "linear_key_head_dim": 64,
                "linear_value_head_dim": 64,
                "linear_conv_kernel_dim": 4,
                "partial_rotary_factor": 0.25,
            },
        },
        drafter=(True, True, False),
    ),
    "gpt_oss": Case(
        {
            **_BASE,
            "model_type": "gpt_oss",
            "intermediate_size": 768,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "sliding_window": 128,
            "layer_types": ["sliding_attention", "full_attention"] * 6,
        },
    ),
    "llama with windows": Case(
        {
            **_BASE,
            "model_type": "llama",
            "sliding_window": 512,
            "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 3,
        },
        drafter=(True, False),
    ),
}


def make(case: Case, folder: Path) -> tuple[Path, Path]:
    """Write a random pair; return the folders of target and drafter."""
    target, drafter = folder / "target", folder / "drafter"
    shutil.copytree(demo_pair()[0], target, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    config = json.loads(json.dumps(case.config))  # mlx-lm writes into it
    make_model, arguments = _get_classes(config)
    model = make_model(arguments.from_dict(config))
    model.set_dtype(mx.bfloat16)
    if case.bits < 16:
        with redirect_stdout(sys.stderr):  # mlx-lm reports the bits; stdout is for the result
            model, config = quantize_model(model, config, group_size=64, bits=case.bits)
    mx.save_safetensors(str(target / "model.safetensors"), dict(tree_flatten(model.parameters())))
    (target / "config.json").write_text(json.dumps(config))
    _make_drafter(case, drafter)
    return target, drafter


def _make_drafter(case: Case, folder: Path) -> None:
    folder.mkdir()
    text = {**case.config, **case.config.get("text_config", {})}
    hidden, inner, heads, kv, size = text["hidden_size"], 2048, 8, 4, 128
    taps = [1, text["num_hidden_layers"] // 2, text["num_hidden_layers"] - 2]
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (hidden, len(taps) * hidden),
        "hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
    }
    for number in range(len(case.drafter)):
        layer, attention = f"layers.{number}", f"layers.{number}.self_attn"
        shapes |= {
            f"{layer}.input_layernorm.weight": (hidden,),
            f"{layer}.post_attention_layernorm.weight": (hidden,),
            f"{attention}.q_proj.weight": (heads * size, hidden),
            f"{attention}.k_proj.weight": (kv * size, hidden),
            f"{attention}.v_proj.weight": (kv * size, hidden),
            f"{attention}.o_proj.weight": (hidden, heads * size),
            f"{attention}.q_norm.weight": (size,),
            f"{attention}.k_norm.weight": (size,),
            f"{layer}.mlp.gate_proj.weight": (inner, hidden),
            f"{layer}.mlp.up_proj.weight": (inner, hidden),
            f"{layer}.mlp.down_proj.weight": (hidden, inner),
        }
    weights = {
        name: mx.ones(shape, mx.bfloat16) if len(shape) == 1 else (mx.random.normal(shape) / shape[-1] ** 0.5).astype(mx.bfloat16)
        for name, shape in shapes.items()
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": 16,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": len(case.drafter),
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "head_dim": size,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "vocab_size": text["vocab_size"],
        "num_target_layers": text["num_hidden_layers"],
        "layer_types": ["sliding_attention" if slides else "full_attention" for slides in case.drafter],
        "use_sliding_window": any(case.drafter),
        "sliding_window": 1024 if any(case.drafter) else None,
        "dflash_config": {"target_layer_ids": taps, "mask_token_id": 3},
    }
    (folder / "config.json").write_text(json.dumps(config))


def measure(target: Path, drafter: Path, context: int) -> dict[str, Any]:
    """Measure in this process: MLX's peak bytes over loading and a reply, and the prediction."""
    mx.reset_peak_memory()
    engine = Engine()
    for _ in engine.load(target, drafter):
        pass
    loading = mx.get_peak_memory()
    pair = engine.pair
    pair.info = dataclasses.replace(pair.info, context_limit=max(pair.info.context_limit, context))
    tokens = tuple(3 + 7 * at % (pair.target.vocabulary - 3) for at in range(context - REPLY))
    request = GenerationRequest(prompt_tokens=tokens, max_tokens=REPLY, ignore_eos=True, width=pair.info.block_size)
    reply = ask(engine, request).stats.peak_memory_bytes
    on_cpu = mx.default_device().type == mx.cpu
    budget = memory.working_set()
    facts = MachineFacts("", "CPU" if on_cpu else "Metal", 1, budget, budget, 1.0, 1.0, "", "", "", "")
    configs = read_config(target), read_config(drafter)
    told = predict_fit(*configs, weight_bytes(target), weight_bytes(drafter), context, facts)
    return {
        "measured": max(loading, reply),
        "loading": loading,
        "predicted": told.needed,
        "lines": {line.what: line.bytes for line in told.lines},
    }


def in_a_fresh_process(target: Path, drafter: Path, context: int) -> dict[str, Any]:
    """Run `measure` in a new process."""
    words = [sys.executable, "-m", "tests.benchmarks.fit", "--measure", str(target), str(drafter), str(context)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fit", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", action="append", choices=["demo pair", *CASES], metavar="NAME", help="of the pairs, this one")
    parser.add_argument("--context", action="append", type=int, metavar="N", help="tokens (default 1024 and 4096)")
    parser.add_argument("--measure", nargs=3, metavar=("TARGET", "DRAFTER", "N"), help="one pair of folders, in this process")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(Path(asked.measure[0]), Path(asked.measure[1]), int(asked.measure[2]))))
        return 0
    rows: list[dict[str, Any]] = []
    for name in asked.only or ["demo pair", *CASES]:
        with tempfile.TemporaryDirectory() as folder:
            pair = demo_pair() if name == "demo pair" else make(CASES[name], Path(folder))
            files = sum(map(weight_bytes, pair))
            for context in asked.context or (1024, 4096):
                rows.append({"pair": name, "files": files, "context": context, **in_a_fresh_process(*pair, context)})
                print(f"{name:<22} {_words(rows[-1])}", file=sys.stderr if asked.json else sys.stdout, flush=True)
    if asked.json:
        print(json.dumps({"when": time.strftime("%Y-%m-%d"), "backend": blas.prepare().name, "rows": rows}))
    return 0


def _words(row: dict[str, Any]) -> str:
    told, seen = row["predicted"], row["measured"]
    return f"{row['context']:>6,} tokens: predicted {told / MB:7.1f} MB, measured {seen / MB:7.1f} MB, {told / seen - 1:+.1%}"


def table(found: dict[str, Any]) -> str:
    """Format predictions and measurements as text."""
    return "\n".join(f"{row['pair']:<20} {row['files'] / MB:4,.0f} MB of files, {_words(row)}" for row in found["rows"])


if __name__ == "__main__":
    sys.exit(main())
