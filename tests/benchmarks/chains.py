"""Compare the rounds of MTP, EAGLE-3, and Gemma 4 assistants with mlx-vlm 0.7.10: same pairs and prompts, one process, interleaved.

    tests/peers/run.sh --chains [--runs 9]

Prints rounds and the median time per round of the reference pairs, greedily in float32 with blocks of their first size and without
lookup. mlx-vlm's own Llama and Qwen3 can't give the features that EAGLE-3 reads, so its EAGLE-3 loop gets mlx-lm's models.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
from mlx_lm.models.base import create_attention_mask  # noqa: E402
from mlx_lm.utils import load_model  # noqa: E402

from mlx_engine.contract.events import Finished  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest  # noqa: E402
from mlx_engine.contract.whole_replies import fold  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from tests.benchmarks.peers import same_weights  # noqa: E402
from tests.golden.__main__ import HERE  # noqa: E402

CASES = {
    "mtp_1": "drafter",
    "mtp_2": "target",
    "eagle3_1": "drafter",
    "eagle3_2": "drafter",
    "gemma4_assistant_1": "drafter",
    "gemma4_assistant_2": "drafter",
}  # and the folder of the drafter
Rounds = tuple[list[int], int, float]  # tokens, passes after the prompt's, seconds per pass
Decoder = Callable[[list[int]], Rounds]


def ours(engine: Engine, block: int, limit: int) -> Decoder:
    def decode(prompt: list[int]) -> Rounds:
        request = GenerationRequest(prompt_tokens=tuple(prompt), width=block, max_tokens=limit, reuse=False)
        events = list(engine.generate(request))
        assert isinstance(events[-1], Finished)
        stats = events[-1].stats
        passes = stats.rounds + stats.plain_steps
        return [*fold(events).tokens], passes, stats.decode_s / passes

    return decode


def theirs(case: str, place: Path, engine: Engine, block: int, limit: int, end: int) -> Decoder:
    from mlx_vlm.generate.ar import generate_step  # type: ignore[import-not-found]
    from mlx_vlm.speculative.drafters import load_drafter  # type: ignore[import-not-found]
    from mlx_vlm.speculative.eagle3 import _eagle3_rounds  # type: ignore[import-not-found]
    from mlx_vlm.utils import load_model as load_theirs  # type: ignore[import-not-found]

    drafter, kind = load_drafter(str(readable(case, place)))
    options: dict[str, Any] = {"max_tokens": limit, "draft_block_size": block}
    target: Any
    if kind == "mtp":
        target = load_theirs(HERE / case / "target")
    else:
        target = Tapped(same_weights(load_model(HERE / case / "target")[0], engine.pair.target.model))

    def mtp(prompt: list[int]) -> Iterator[tuple[Any, Any]]:
        yield from generate_step(
            mx.array([prompt]), target, None, None, temperature=0.0, draft_model=drafter, draft_kind=kind, **options
        )

    def eagle3(prompt: list[int]) -> Iterator[tuple[Any, Any]]:
        tokens, cache = mx.array([prompt]), target.model.make_cache()
        seen = target(tokens, cache=cache, capture_layer_ids=drafter.config.capture_layer_ids)
        features = mx.concatenate(seen.hidden_states, axis=-1)
        first = int(greedy(seen.logits[:, -1:]).item())
        yield first, None
        given = {"prompt_tokens": tokens, "first_bonus": first, "sampler": greedy, "greedy_sampling": True}
        yield from _eagle3_rounds(target, drafter, cache, features, **given, **options)

    def decode(prompt: list[int]) -> Rounds:
        before, tokens, began = getattr(drafter, "speculative_total_rounds", 0), list[int](), 0.0
        for token, _ in (mtp if kind == "mtp" else eagle3)(prompt):
            began = began or time.perf_counter()  # when the prompt's pass is done
            tokens.append(int(token))
            if tokens[-1] == end:
                break
        taken, passes = time.perf_counter() - began, drafter.speculative_total_rounds - before
        return tokens, passes, taken / passes

    return decode


def greedy(logits: mx.array) -> mx.array:
    return mx.argmax(logits, axis=-1)


class Tapped:
    """mlx-lm's model with the interface of mlx-vlm's targets."""

    def __init__(self, model: Any) -> None:
        self.model, self._head = model.model, model
        self.model.make_cache = lambda: [self._cache() for _ in self.model.layers]
        self.config = SimpleNamespace(eos_token_id=None)

    @staticmethod
    def _cache() -> Any:
        from mlx_lm.models.cache import KVCache

        return KVCache()

    def __call__(self, tokens: mx.array, cache: list[Any], capture_layer_ids: list[int], **_: Any) -> SimpleNamespace:
        hidden, taps = self.model.embed_tokens(tokens), []
        mask = create_attention_mask(hidden, cache[0])
        for index, (layer, kept) in enumerate(zip(self.model.layers, cache, strict=True)):
            hidden = layer(hidden, mask, kept)
            if index in capture_layer_ids:
                taps.append(hidden)
        hidden = self.model.norm(hidden)
        logits = self._head.lm_head(hidden) if "lm_head" in self._head else self.model.embed_tokens.as_linear(hidden)
        return SimpleNamespace(logits=logits, hidden_states=taps, gdn_states=None)

    def rollback_speculative_cache(self, cache: list[Any], _: Any, accepted: int, block: int) -> None:
        for kept in cache:
            kept.trim(block - 1 - accepted)


def readable(case: str, place: Path) -> Path:
    """Return the drafter's folder, in the layout of speculators if mlx-vlm doesn't read the classic one."""
    folder = HERE / case / CASES[case]
    if case != "eagle3_1":
        return folder
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = dict(mx.load(str(folder / "model.safetensors")))
    weights = {name.replace("midlayer.", "layers.0."): array for name, array in weights.items()}
    weights["embed_tokens.weight"] = dict(mx.load(str(HERE / case / "target" / "model.safetensors")))["model.embed_tokens.weight"]
    mx.save_safetensors(str(place / "model.safetensors"), weights)
    taps = {"eagle_aux_hidden_state_layer_ids": [2, 4, 5], "draft_vocab_size": config["draft_vocab_size"]}
    made = {"speculators_model_type": "eagle3", "transformer_layer_config": config, **taps}
    (place / "config.json").write_text(json.dumps(made), encoding="utf-8")
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=9, help="counted runs of every prompt (default 9)")
    runs = parser.parse_args().runs
    for case, drafter in CASES.items():
        engine = Engine()
        for _ in engine.load(HERE / case / "target", HERE / case / drafter):
            pass
        described = json.loads((HERE / case / "cases.json").read_text(encoding="utf-8"))
        block, limit = described["block_size"], described["max_tokens"]
        with TemporaryDirectory() as place:
            peer = theirs(case, Path(place), engine, block, limit, described["eos_token_id"])
        decoders = {"ours": ours(engine, block, limit), "mlx-vlm": peer}
        passes, times = dict.fromkeys(decoders, 0), {name: list[float]() for name in decoders}
        for run in range(runs + 1):
            for one in described["cases"]:
                for name, decode in decoders.items():
                    tokens, count, seconds = decode(one["prompt_ids"])
                    assert tokens == one["output_ids"], (case, name)
                    if run:
                        passes[name] += count
                        times[name].append(seconds)
            mx.clear_cache()
        shown = [f"{name} {passes[name] // runs} passes of {1e3 * median(times[name]):.2f} ms" for name in decoders]
        print(f"{case}: {', '.join(shown)}; time ratio {median(times['ours']) / median(times['mlx-vlm']):.2f}", flush=True)


if __name__ == "__main__":
    main()
