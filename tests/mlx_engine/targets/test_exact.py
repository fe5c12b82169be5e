"""Exact mode, end to end in the emulator: DFlash's text equals plain text bit for bit in bfloat16 and with quantized weights."""

import copy
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import mlx.core as mx
import mlx.nn as nn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx_lm.models.cache import RotatingKVCache

from mlx_engine.contract.requests import Compare, Sampling
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.scheduler import Scheduler, decode
from mlx_engine.kernels import verify_attention
from mlx_engine.kernels.operations import ROW_EXACT, with_kernels
from mlx_engine.models.configs.families import FAMILIES
from mlx_engine.targets import exact, target
from tests.benchmarks import tracing
from tests.metal_emulator import kernel, metal_kernel
from tests.metal_emulator.compiler import compilers
from tests.mlx_engine import tiny_families
from tests.mlx_engine.asking import failure, reply, tokens
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.decoding.streams import Scripted, SometimesWrong, prefilled
from tests.mlx_engine.decoding.test_scheduler import said

ROOT = Path(__file__).parents[3]
PROMPT = tuple(Random(5).choices(range(8, 120), k=21))
# Head dims that the kernels take, and as in the published models one that they don't: Gemma's full attention
DIMS = {"head_dim": 32, "global_head_dim": 48, "linear_key_head_dim": 32, "linear_value_head_dim": 16, "sliding_window": 40}
FORMATS = {"bfloat16": None, "4 bits": 4, "8 bits": 8}
PROVEN = ("qwen3", "qwen3_5", "gpt_oss", "gemma4", "gemma4_unified")


@pytest.fixture(autouse=True)
def quick_emulator(monkeypatch):
    """Use one compiler and one thread schedule; the kernels' own tests use several."""
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])
    monkeypatch.setattr(kernel, "compilers", lambda: compilers()[:1])


@pytest.fixture
def half(monkeypatch):
    """Load targets in bfloat16, which a CPU otherwise never computes in."""
    own, gather = nn.Module.set_dtype, mx.gather_mm
    monkeypatch.setattr(nn.Module, "set_dtype", lambda module, dtype: own(module, mx.bfloat16))
    monkeypatch.setattr(target, "share_mask", lambda cache: None)  # it is float32

    def gathered(a, b, *rest, **options):  # MLX's for a CPU takes only float32
        return gather(a.astype(mx.float32), b.astype(mx.float32), *rest, **options).astype(a.dtype)

    monkeypatch.setattr(mx, "gather_mm", gathered)


def resize(family, monkeypatch):
    """Give a family's model the dims above."""
    config = copy.deepcopy(tiny_families.CONFIGS[family])
    for part in (config, config.get("text_config", {})):
        part.update({name: value for name, value in DIMS.items() if name in part})
    monkeypatch.setitem(tiny_families.CONFIGS, family, config)


def engine_of(family, bits, folder, monkeypatch):
    """A pair of this family with a random drafter."""
    resize(family, monkeypatch)
    engine = loaded(tiny_families.save(family, folder / "target", bits), tiny_families.save_drafter(family, folder / "drafter"))
    engine.pair.exact_operations = with_kernels(ROW_EXACT, metal_kernel, row_exact=True)
    return engine


class Informed:
    """A drafter's proposals: the known text, with mistakes, so that every number of drafts is accepted now and then."""

    def __init__(self, drafter, text, seed):
        self.text, self.random = text, Random(seed)
        drafter.propose_packed = lambda blocks: [self.propose(block) for block in blocks]

    def propose(self, block):
        at, rows = block.context.position + 1, block.rows
        drafts = [*self.text[at : at + rows - 1], *[9] * rows][: rows - 1]
        drafts = [token if self.random.random() < 0.85 else self.random.randrange(8, 120) for token in drafts]
        return mx.array(drafts, mx.uint32)


def assert_texts_are_equal(engine, temperature, length, widths):
    asked = {"temperature": temperature, "seed": 7, "max_tokens": length, "ignore_eos": True, "exact": True}
    plain = reply(engine, tokens(PROMPT, mode="plain", **asked))
    assert plain.stats.exact and len(plain.tokens) == length
    for width in widths:
        Informed(engine.pair.drafter, (*PROMPT, *plain.tokens), width)
        dflash = reply(engine, tokens(PROMPT, width=width, **asked))
        assert dflash.tokens == plain.tokens, (width, dflash.stats.accepted_per_round)
        assert dflash.stats.exact
        if length > 30:
            assert len(set(dflash.stats.accepted_per_round)) >= min(width, 5)  # rounds of many lengths


@pytest.mark.parametrize(
    ("family", "form", "temperature", "length", "widths"),
    [
        ("qwen3", "4 bits", 0.8, 10, (16,)),
        ("qwen3_5", "bfloat16", 0.0, 8, (8,)),
        *(
            pytest.param(family, form, temperature, 256, (2, 5, 8, 16), marks=pytest.mark.long)
            for family in PROVEN
            for form in FORMATS
            for temperature in (0.0, 0.8)
        ),
    ],
)
def test_dflash_gives_the_plain_text(family, form, temperature, length, widths, half, tmp_path, monkeypatch):
    engine = engine_of(family, FORMATS[form], tmp_path, monkeypatch)
    assert_texts_are_equal(engine, temperature, length, widths)


@pytest.mark.parametrize(
    ("family", "form"),
    [
        ("qwen3", "4 bits"),
        *(pytest.param(family, form, marks=pytest.mark.long) for family in PROVEN for form in FORMATS),
    ],
)
def test_replies_that_share_passes_have_the_text_of_one_alone(family, form, half, tmp_path, monkeypatch):
    """In passes of more rows than a block has: a row's tile, and its place in the tile, differ."""
    engine, rows, forward = engine_of(family, FORMATS[form], tmp_path, monkeypatch), [], target.Target.forward_packed

    def watched(own, streams, tapped):
        rows.append(sum(part.tokens.size for part in streams))
        return forward(own, streams, tapped)

    monkeypatch.setattr(target.Target, "forward_packed", watched)
    prompts, widths = [(*PROMPT[:9], 11 + i) for i in range(3)], (1, 12, 7)

    def streams(texts):
        made = []
        for prompt, width, text in zip(prompts, widths, texts, strict=True):
            copies = SometimesWrong(text, [3, 9, 20]) if text else None
            kind = PassKind("lookup", width) if text and width > 1 else PLAIN_STEP
            made.append(prefilled(engine.pair, prompt, Scripted([kind]), 8, Sampling(0.8), 3, copies=copies))
        return made

    with engine.pair.exactly():
        alone = [said(engine, stream) for stream in streams([None] * 3)]
        scheduler = Scheduler()
        running = [(decode(stream, engine.pair.target, scheduler), []) for stream in streams(alone)]
        for _ in range(40):
            for steps, found in running:
                step = next(steps, None)
                found += [] if step is None else step.tokens
    assert [found for _, found in running] == alone
    assert max(rows) > 16


def test_the_mode_lasts_for_one_reply(half, tmp_path, monkeypatch):
    engine = engine_of("gpt_oss", None, tmp_path, monkeypatch)
    layers = [getattr(layer, "layer", layer) for layer in engine.pair.target._layers]
    before = [id(part) for layer in layers for part in layer.modules()]
    usual = reply(engine, tokens(PROMPT, max_tokens=5, width=4))
    Informed(engine.pair.drafter, (*PROMPT, *usual.tokens), 1)
    assert reply(engine, tokens(PROMPT, max_tokens=5, width=4, exact=True)).stats.exact
    assert [id(part) for layer in layers for part in layer.modules()] == before
    again = reply(engine, tokens(PROMPT, max_tokens=5, width=4))
    assert (again.tokens, again.stats.exact) == (usual.tokens, False)


def test_a_prompt_is_always_computed_from_its_start(tiny):
    """Snapshots would hold rows that other passes computed."""
    for _ in range(2):
        asked = tokens(PROMPT, max_tokens=4, exact=True, reuse=True)
        assert reply(tiny, asked).stats.reused_tokens == 0
    assert reply(tiny, tokens(PROMPT, max_tokens=4, reuse=True)).stats.reused_tokens == 0


def test_in_float32_on_a_cpu_exact_text_is_the_usual_text(tiny):
    for mode in ("plain", "dflash"):
        asked = {"mode": mode, "max_tokens": 40, "ignore_eos": True}
        assert reply(tiny, tokens(PROMPT, exact=True, **asked)).tokens == reply(tiny, tokens(PROMPT, **asked)).tokens


@pytest.mark.parametrize("size", [8, 40, 300])
@given(seed=st.integers(0, 999))
@settings(max_examples=settings.default.max_examples // 4)
def test_a_window_holds_what_its_rows_may_see(size, seed):
    """Through blocks and rewinds, while old rows are dropped; then mlx-lm's own cache holds the last rows."""
    random = Random(seed)
    blocks = [(random.randint(1, 16), random.randint(0, 3)) for _ in range(120)]
    cache = RotatingKVCache(size)
    adapter, truth, at = exact.adapter(cache, exact.RowAttention(None)), {}, 0
    for number, (rows, dropped) in enumerate(blocks):
        within = adapter.begin(True)
        assert within.offset == at
        truth |= {at + row: 100.0 * number + row for row in range(rows)}
        keys = mx.array([truth[at + row] for row in range(rows)])[None, None, :, None]
        held, _ = within.update_and_fetch(keys, -keys)
        at += rows
        seen = range(max(0, at - rows + 1 - size), at)
        assert held[0, 0, :, 0].tolist()[-len(seen) :] == [truth[position] for position in seen]
        assert adapter._rows.first % verify_attention.PART == 0
        adapter.rewind(min(dropped, rows), rows)
        at -= min(dropped, rows)
    adapter.release()
    kept = range(max(0, at - size), at)
    assert cache.offset == at and (not kept or cache.values[0, 0, :, 0].tolist() == [-truth[position] for position in kept])


def listed():
    """MLX's operations in the table of docs/exactness.md."""
    rows = (ROOT / "docs" / "exactness.md").read_text().split("| MLX operation |")[1].split("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall("`(.+?)`", row.split("|")[1])}


def verified(family, bits):
    """The operations that passes of 16, 1 and 5 rows run on a GPU."""
    model = tiny_families.build(family)
    if bits:
        nn.quantize(model, 32, bits)
    wrapped = target.Target(model, 128, FAMILIES[tiny_families.CONFIGS[family]["model_type"]], [0, 1])
    wrapped.use(with_kernels(ROW_EXACT, tracing.kernel, row_exact=True), compiled=False)
    caches = wrapped.caches()

    def run():
        for rows in (16, 1, 5):
            mx.eval(wrapped.forward(mx.arange(rows, dtype=mx.uint32), caches))
            caches.rewind(rows // 2)

    with tracing.as_with_metal(), tracing.exportable():
        _, found = tracing.trace(run)
    return {_operation(each.kernel or each.name) for each in found.primitives}


def chosen():
    """The operations that choose tokens from the logits of 5 rows: with every filter and penalty, and greedy."""
    sampling = Sampling(0.8, top_p=0.9, top_k=20, min_p=0.01, repetition_penalty=1.1, presence_penalty=0.1, frequency_penalty=0.1)

    def run():
        for how in (sampling, Sampling()):
            chooser, penalties = Chooser(how, 7), Penalties(how, PROMPT)
            penalties.add((5, 6))
            logits, drafts = mx.zeros((5, 128), mx.bfloat16) + mx.array(0, mx.bfloat16), mx.zeros((4,), mx.uint32)
            verdict = chooser.verify(penalties.apply(logits, drafts), drafts, 30, chooser.noise(30, 5, 128))
            mx.eval(verdict.choices, verdict.count())

    with tracing.as_with_metal(), tracing.exportable():
        _, found = tracing.trace(run)
    return {_operation(each.kernel or each.name) for each in found.primitives}


def _operation(name):
    """A marker's operation, or the name of one of our kernels."""
    ours = next((kernel for kernel in ROW_EXACT if name.startswith(kernel)), None)
    known = next((kind for kind in ("compiled", "contiguous", *tracing.FAST) if name.startswith(tracing.MARK + kind)), None)
    return ours or known or name


def test_everything_else_that_a_verify_runs_is_listed_with_its_reason(monkeypatch):
    """So that no new operation of MLX or mlx-lm can slip in."""
    found = chosen()
    for family, config in tiny_families.CONFIGS.items():
        if FAMILIES[config["model_type"]].row_exact:
            resize(family, monkeypatch)
            found |= verified(family, None) | verified(family, 4)
    assert found == listed() | set(ROW_EXACT)
    assert not found & {"Matmul", "QuantizedMatmul", "AddMM"}


REFUSED = {
    "deepseek_v3": ({}, "the “deepseek_v3” family uses a different formula for a single row"),
    "qwen3": ({"bits": 3}, "it has 3-bit weights (affine, groups of 32)"),
    "minimax_m2": ({}, "it multiplies float32 by bfloat16"),
}


@pytest.mark.parametrize("family", REFUSED)
def test_what_cannot_be_exact_is_refused_by_name(family, half, tmp_path, monkeypatch):
    made, why = REFUSED[family]
    engine = engine_of(family, made.get("bits"), tmp_path, monkeypatch)
    message = failure(engine, tokens(PROMPT, max_tokens=4, exact=True))
    assert message.startswith(f"Exact mode isn't available for this model: {why}")
    assert reply(engine, tokens(PROMPT, max_tokens=4)).tokens


def test_mxfp4_outside_experts_is_refused(half, tmp_path, monkeypatch):
    engine = engine_of("llama", None, tmp_path, monkeypatch)
    own = engine.pair.target.model.layers[1].layer.self_attn if hasattr(engine.pair.target.model.layers[1], "layer") else None
    own = own or engine.pair.target.model.layers[1].self_attn
    own.o_proj = own.o_proj.to_quantized(32, 4, "mxfp4")
    assert "4-bit weights (mxfp4, groups of 32)" in failure(engine, tokens(PROMPT, max_tokens=4, exact=True))


@pytest.mark.long
def test_experts_in_mxfp4_are_exact(half, tmp_path, monkeypatch):
    """As gpt-oss is published: experts in mxfp4, everything else in bfloat16."""
    engine = engine_of("gpt_oss", None, tmp_path, monkeypatch)
    for layer in engine.pair.target._layers:
        experts = getattr(layer, "layer", layer).mlp.experts
        for name in ("gate_proj", "up_proj", "down_proj"):
            experts[name] = experts[name].to_quantized(32, 4, "mxfp4")
    assert_texts_are_equal(engine, 0.0, 12, (8,))


@pytest.mark.parametrize(
    ("broken", "why"), [("verify_matmul", "depends on the number of rows"), ("verify_attention", "wrong results")]
)
def test_a_machine_on_which_a_kernel_fails_the_trial_is_refused(broken, why, half, tmp_path, monkeypatch):
    engine = engine_of("qwen3", None, tmp_path, monkeypatch)
    table = engine.pair.exact_operations
    right = getattr(table, broken)

    def wrong(*arguments):
        result = right(*arguments)
        if broken == "verify_attention":
            return mx.roll(result, 1, axis=1) * 3
        return result * (1 + 2.0**-7) if result.shape[0] > 5 else result

    engine.pair.exact_operations = replace(table, **{broken: wrong})
    assert why in failure(engine, tokens(PROMPT, max_tokens=4, exact=True))


@pytest.mark.parametrize("rows", [range(2, 33), pytest.param(range(1, 9), marks=pytest.mark.long)], ids=["several", "few"])
def test_the_fast_mode_would_fail_the_trial(half, tmp_path, monkeypatch, rows):
    """It leaves some numbers of rows to MLX, which adds in another order than the kernels."""
    kernels = dict.fromkeys(ROW_EXACT, frozenset(rows))
    with pytest.raises(ValueError, match="all numbers of rows"):
        with_kernels(kernels, row_exact=True)
    engine = engine_of("qwen3", 4, tmp_path, monkeypatch)
    engine.pair.exact_operations = replace(with_kernels(kernels, metal_kernel), row_exact=True)
    assert "depends on the number of rows" in failure(engine, tokens(PROMPT, max_tokens=4, exact=True))


def test_without_a_drafter_it_is_refused(tmp_path):
    engine = loaded(tiny_families.save("qwen3", tmp_path / "target"), None)
    assert "needs a drafter" in failure(engine, tokens(PROMPT, max_tokens=4, exact=True))


def test_a_comparison_can_be_exact(tiny):
    request = Compare((tokens(PROMPT, max_tokens=12, ignore_eos=True, exact=True),))
    *_, result = tiny.run(request)
    assert [(one.verdict, one.runs[0].exact) for one in result.results] == [("identical", True)] * 2


def test_a_width_above_sixteen_is_refused(tiny, tmp_path):
    engine = loaded(tiny_families.save("qwen3", tmp_path / "t"), tiny_families.save_drafter("qwen3", tmp_path / "d", block=32))
    assert "from 1 to 16" in failure(engine, tokens(PROMPT, max_tokens=4, exact=True, width=17))
    assert reply(engine, tokens(PROMPT, max_tokens=40, exact=True, ignore_eos=True)).tokens
