"""The decoding loop with kernels in the emulator gives the same text as without: greedy, sampled, dense and recurrent."""

from collections import Counter

import mlx.core as mx
import mlx.nn as nn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.contract.requests import Sampling
from mlx_engine.kernels.operations import KERNELS, PLAIN, SEVERAL_ROWS, with_kernels
from mlx_engine.targets.products import KernelLayers
from tests import metal_emulator
from tests.examples import SAMPLE
from tests.metal_emulator import kernel
from tests.mlx_engine.asking import reply, tokens

PROMPT = [5, 17, 40, 41, 42, 17, 40]
LENGTH = 20 if SAMPLE else 64


class Counted:
    """Builds kernels in the emulator and counts their calls."""

    def __init__(self) -> None:
        self.calls = Counter[str]()

    def __call__(self, name: str, **how):
        built = metal_emulator.metal_kernel(name=name, **how)

        def run(**call):
            self.calls[name] += 1
            return built(**call)

        return run


@pytest.fixture(autouse=True)
def one_schedule(monkeypatch):
    """Use one thread schedule; the kernels' own tests use several."""
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])


@pytest.fixture(params=["tiny", "tiny2"])
def engine(request):
    engine = request.getfixturevalue(request.param)
    yield engine
    engine.pair.use(PLAIN)


@pytest.mark.parametrize(
    ("engine", "temperature"),
    [
        ("tiny2", 0.8),
        pytest.param("tiny", 0.0, marks=pytest.mark.long),
        pytest.param("tiny", 0.8, marks=pytest.mark.long),
        pytest.param("tiny2", 0.0, marks=pytest.mark.long),
    ],
    indirect=["engine"],
)
def test_a_reply_with_every_kernel_in_the_emulator(engine, temperature):
    asked = tokens(PROMPT, temperature=temperature, seed=11, max_tokens=LENGTH, ignore_eos=True, width=8)
    want = reply(engine, asked)
    build = Counted()
    engine.pair.use(with_kernels(build=build))
    got = reply(engine, asked)
    assert len(got.tokens) == LENGTH
    assert got.tokens == want.tokens
    assert got.stats.accepted_per_round == want.stats.accepted_per_round
    assert got.stats.rounds > 0
    expected = {"kv_injection", "block_verify_scan", "block_verify_settle", "verify_matmul_dense", "verify_matmul_dense_residual"}
    expected |= {"attention_inputs", "verify_attention_part", "verify_attention_merge"}
    expected |= {"delta_inputs", "gated_delta_replay"} if engine.pair.info.family == "qwen3_5" else set()
    assert set(build.calls) == expected
    # the choice after the prompt, then one a round
    assert build.calls["block_verify_settle"] == 1 + got.stats.rounds


def test_plain_decoding_chooses_with_the_same_kernel(engine):
    asked = tokens(PROMPT, temperature=0.8, seed=11, max_tokens=12, ignore_eos=True, mode="plain")
    want, build = reply(engine, asked), Counted()
    engine.pair.use(with_kernels(("block_verify",), build=build))
    assert reply(engine, asked).tokens == want.tokens
    assert build.calls["block_verify_settle"] == 12


def test_plain_steps_can_be_left_to_mlx(engine):
    asked = [tokens(PROMPT, seed=11, max_tokens=count, ignore_eos=True, mode="plain") for count in (1, 12)]
    want, calls = reply(engine, asked[1]), []
    for each in asked:
        build = Counted()
        engine.pair.use(with_kernels(dict.fromkeys(KERNELS, SEVERAL_ROWS), build))
        got = reply(engine, each)
        calls.append(build.calls)
    assert got.tokens == want.tokens
    assert calls[0] == calls[1] and calls[0]  # only the prompt's pass has several rows


def test_with_kernels_dflash_gives_the_plain_text_and_plain_steps_use_the_same_kernels(engine):
    build = {"plain": Counted(), "dflash": Counted()}
    said = {}
    for mode, counted in build.items():
        engine.pair.use(with_kernels(build=counted))
        said[mode] = reply(engine, tokens(PROMPT, seed=11, max_tokens=12, ignore_eos=True, mode=mode, width=8))
    assert said["dflash"].stats.rounds > 0
    assert said["plain"].tokens == said["dflash"].tokens
    assert set(build["plain"].calls) == set(build["dflash"].calls) - {"kv_injection"}
    steps = {mode: counted.calls["block_verify_settle"] for mode, counted in build.items()}
    products = {
        mode: sum(calls for name, calls in counted.calls.items() if name.startswith("verify_matmul"))
        for mode, counted in build.items()
    }
    assert steps["plain"] == steps["dflash"] == 12  # a drafter of random weights confirms nothing
    # a block of a gated delta net joins four products, a plain step runs mlx-lm's own net; a round also drafts, which takes four a
    # layer and the head, and injects, which takes two, and so does each of the prompt's two passes
    rounds = steps["plain"] - 1
    spared = 3 * len(engine.pair.target._nets) * rounds
    assert products["dflash"] == products["plain"] - spared + (4 * engine.pair.drafter.config.layers + 3) * rounds + 2 * 2


@given(rows=st.integers(2, 16), seed=st.integers(0, 99), bits=st.sampled_from([4, 8, 16]))
@settings(max_examples=4)
def test_a_row_of_a_product_has_the_same_bits_alone_and_in_a_block(rows, seed, bits):
    mx.random.seed(seed)
    own = nn.Linear(64, 24)
    holder = nn.Module()
    holder.part = own if bits == 16 else own.to_quantized(group_size=32, bits=bits)
    counted = Counted()
    KernelLayers([holder], with_kernels(("verify_matmul",), build=counted).verify_matmul)
    x = mx.random.normal((1, rows, 64))
    block = holder.part(x)
    assert all(mx.array_equal(holder.part(x[:, i : i + 1]), block[:, i : i + 1]).item() for i in (0, rows - 1))
    assert sum(counted.calls.values()) == 3


@given(rows=st.integers(1, 20), bits=st.sampled_from([4, 8, 16]))
@settings(max_examples=6)
def test_a_tied_head_uses_the_kernel_and_its_embedding_does_not_change(rows, bits):
    mx.random.seed(rows)
    own = nn.Embedding(24, 64)
    holder = nn.Module()
    holder.part = own if bits == 16 else own.to_quantized(group_size=32, bits=bits)
    hidden, ids, counted = mx.random.normal((1, rows, 64)), mx.array([[3, 0, 23]]), Counted()
    logits, embedded = holder.part.as_linear(hidden), holder.part(ids)
    products = KernelLayers([holder], with_kernels(("verify_matmul",), build=counted).verify_matmul)
    assert mx.array_equal(holder.part(ids), embedded)
    assert mx.allclose(holder.part.as_linear(hidden), logits, rtol=1e-5, atol=1e-5)  # the kernel's sums run in another order
    assert sum(counted.calls.values()) == (rows <= 16)
    products.release()
    assert holder.part.as_linear(hidden).tolist() == logits.tolist()


def test_filters_run_before_the_kernel(tiny):
    asked = tokens(PROMPT, seed=3, max_tokens=12, ignore_eos=True, width=8)
    asked = type(asked)(**{**vars(asked), "sampling": Sampling(0.9, top_p=0.8, top_k=20, min_p=0.02, repetition_penalty=1.1)})
    want = reply(tiny, asked)
    tiny.pair.use(with_kernels(build=metal_emulator.metal_kernel))
    try:
        assert reply(tiny, asked).tokens == want.tokens
    finally:
        tiny.pair.use(PLAIN)


def test_plain_operations_restore_the_targets_own_modules(engine):
    target = engine.pair.target
    layers = [getattr(layer, "layer", layer) for layer in target._layers]

    def found():
        return [id(module) for layer in [target.model, *layers] for module in layer.modules()]

    before = found()
    engine.pair.use(with_kernels())
    assert found() != before
    engine.pair.use(PLAIN)
    assert found() == before


def test_unsupported_arguments_run_the_reference(tiny):
    def build(**how):
        raise AssertionError("a kernel was built")

    operations = with_kernels(build=build)
    few = mx.array([[1.0, 3.0, 2.0]])
    assert operations.block_verify(few, None, None).choices.tolist() == [1]
    assert {*KERNELS, "traceable", "rows", "row_exact"} == set(vars(PLAIN))
