"""The bench of the host: what is counted, against graphs whose cost is known, and that nothing stays replaced afterwards."""

from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models.activations import swiglu

from tests.benchmarks import deep_pairs, dispatches, host, tracing
from tests.benchmarks.dispatches import count
from tests.benchmarks.tracing import Primitive, Tensor, trace

X = mx.random.normal((2, 16, 4, 32))
W = mx.random.normal((32, 8))
mx.eval(X, W)


def cost(make) -> int:  # type: ignore[no-untyped-def]
    return count(trace(lambda: mx.eval(make()))[1].primitives).dispatches


@pytest.mark.parametrize(
    ("make", "dispatches"),
    [
        (lambda: X + 1, 1),
        (lambda: X @ W, 1),
        (lambda: (X @ W).transpose(0, 2, 1, 3), 1),
        (lambda: X.transpose(0, 2, 1, 3).reshape(2, 4, 512), 1),  # a copy
        (lambda: (X + 1).reshape(2, 16, 128), 1),  # a view
        (lambda: mx.split(X + 1, 2, axis=-1)[1].reshape(2, 16, 4, 2, 8), 1),  # splitting an axis of a slice is a view
        (lambda: mx.split(X + 1, 2, axis=-1)[1].reshape(2, 16, 64), 2),  # joining two is not
        (lambda: mx.concatenate([X, X, X[:, :3]], axis=1), 3),
        (lambda: mx.fast.rms_norm(X, None, 1e-6), 1),
        (lambda: mx.fast.rms_norm(X.transpose(0, 2, 1, 3), None, 1e-6), 2),
        (lambda: nn.silu(X) * 2, 2),
        (lambda: swiglu(X, X), 1),
        (lambda: mx.contiguous((X + 1)[:, :3]), 2),
        (lambda: mx.argmax(X @ W, axis=-1), 2),
    ],
)
def test_graphs_of_known_cost(make, dispatches: int) -> None:  # type: ignore[no-untyped-def]
    assert cost(make) == dispatches


@pytest.mark.parametrize(
    ("rows", "heads", "kv", "dim", "keys", "mask", "dispatches"),
    [
        (1, 8, 2, 128, 100, None, 1),
        (8, 8, 2, 128, 4096, None, 2),
        (16, 8, 2, 128, 4096, None, 1),
        (16, 8, 2, 256, 100, None, 4),
        (16, 8, 2, 256, 100, "causal", 8),
        (8, 12, 2, 256, 100, None, 4),  # 8 queries of 6 heads a group are too many for the vector kernel
    ],
)
def test_attention_follows_mlx_choice_of_kernel(
    rows: int, heads: int, kv: int, dim: int, keys: int, mask: str | None, dispatches: int
) -> None:
    queries = mx.zeros((1, heads, rows, dim))
    past = mx.zeros((1, kv, keys, dim))
    mx.eval(queries, past)
    assert cost(lambda: mx.fast.scaled_dot_product_attention(queries, past, past, scale=1.0, mask=mask)) == dispatches


shapes = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)


@given(shapes, st.randoms(use_true_random=False))
def test_layouts_are_those_of_strided_arrays(shape, random) -> None:  # type: ignore[no-untyped-def]
    """After a transposition and a slice, a reshape is a view exactly where numpy can make it one."""
    real = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    axes = random.sample(range(len(shape)), len(shape))
    steps = [
        Primitive("Transpose", (axes,), (Tensor("A", shape, 4),), (Tensor("B", tuple(shape[a] for a in axes), 4),)),
    ]
    turned = real.transpose(axes)
    begin = [random.randrange(length) for length in turned.shape]
    cut = turned[tuple(slice(b, None) for b in begin)]
    slicing = (begin, list(turned.shape), [1] * turned.ndim)
    steps.append(Primitive("Slice", slicing, (steps[-1].outputs[0],), (Tensor("C", cut.shape, 4),)))
    steps.append(Primitive("Reshape", ((cut.size,),), (steps[-1].outputs[0],), (Tensor("D", (cut.size,), 4),)))
    copied = not np.shares_memory(cut.reshape(-1), real)
    assert count(steps).dispatches == int(copied)


def test_waits_and_what_is_left_over() -> None:
    state = {"a": X}

    def round_() -> None:
        chosen = mx.argmax(state["a"] @ W, axis=-1)
        mx.async_eval(chosen)
        state["a"] = state["a"] * 2  # left to the next round
        mx.eval(chosen)
        chosen.tolist()
        chosen.reshape(-1)[0].item()

    before, all_ = trace(round_, before=2)
    assert (all_.waits - before.waits, all_.queued - before.queued) == (2, 1)  # for what was queued, and for the item
    assert all_.idle - before.idle == 2
    assert count(all_.primitives).dispatches - count(before.primitives).dispatches == 4  # an index is a gather


def test_a_wait_is_not_idle_while_something_is_queued_behind_what_it_waits_for() -> None:
    last = [X * 2]

    def round_() -> None:
        following = last[0] * 2
        mx.async_eval(following)
        last[0].tolist()
        last[0] = following

    before, all_ = trace(round_, before=2)
    assert (all_.waits - before.waits, all_.idle - before.idle) == (1, 0)


def test_a_stretch_whose_kernel_cannot_run_here_is_timed_while_it_is_built() -> None:
    """Nothing is computed, reads are made up, and what was stood in for comes back."""
    kernel = mx.fast.metal_kernel(name="never_run", input_names=["x"], output_names=["y"], source="y[0] = x[0];")
    read: list = []

    def stretch() -> None:
        how = {"output_shapes": [(2,)], "output_dtypes": [mx.float32], "grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
        made = kernel(inputs=[mx.zeros((2,))], **how)[0]
        mx.async_eval(made)
        read.append(made.tolist())

    seconds = tracing.built_s(stretch, 3)
    assert len(seconds) == len(read) == 3 and all(each > 0 for each in seconds)
    assert [each[0] for each in read] == [tracing.KEPT] * 3
    assert not tracing.active and (mx.ones(3) + 1).tolist() == [2, 2, 2]


def test_nothing_stays_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts() -> list:
        own = [mx.eval, mx.async_eval, mx.fast.rms_norm, mx.contiguous, nn.silu, mx.default_device, mx.new_stream]
        return [*own, mx.array.item, mx.array.tolist]

    before = parts()

    def fail() -> None:
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"), tracing.as_with_metal():
        trace(fail)
    with tracing.exportable(), tracing.Clock().watching():
        pass
    assert parts() == before
    assert (mx.ones(3) + 1).tolist() == [2, 2, 2]
    assert nn.silu(mx.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize("kind", ["qwen3, 32 layers", pytest.param("qwen3_5, 32 layers", marks=pytest.mark.long)])
def test_a_round_of_ours_is_counted_whole(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = deep_pairs.KINDS[kind]
    shallow = {**config, "num_hidden_layers": 4} if "text_config" not in config else {
        **config, "text_config": {**config["text_config"], "num_hidden_layers": 4}
    }  # fmt: skip
    monkeypatch.setitem(deep_pairs.KINDS, kind, shallow)
    monkeypatch.setattr(host, "_WARM", 1)
    monkeypatch.setattr(host, "_TIMED", 2)
    pair = deep_pairs.write(deep_pairs.KINDS[kind], tmp_path)
    whole, own = host.cost(host.ours, *pair), host.parts(*pair)
    # the one read of a round has the next round behind it, which need not wait for what the host reads
    assert (whole.waits, whole.idle) == (1, 0)
    assert len(whole.host_s) == 2 and all(seconds > 0 for seconds in whole.host_s)
    assert own.inject_kernel <= 5 and own.accept_kernel <= 2 and own.a_layer_kernel <= 12
    kernels = host.cost(host.with_our_kernels, *pair)
    saved = own.draft + own.inject + own.accept + own.verify
    saved -= own.draft_kernel + own.inject_kernel + own.accept_kernel + own.verify_kernel
    # but for a range that the masks of target and drafter both begin with: in a whole round MLX's export merges the two
    assert 0 <= saved - (whole.dispatches - kernels.dispatches) <= 1
    # a round is its parts, and little else: where its rows stand, its tokens, and where the next one begins
    sum_of_parts = own.draft + own.verify + own.accept + own.inject
    assert 0 <= whole.dispatches - sum_of_parts <= 10
    assert sum(whole.parts.values()) == whole.dispatches


def test_a_peer_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(target: Path, drafter: Path):  # type: ignore[no-untyped-def]
        raise ModuleNotFoundError("No module named 'dflash'", name="dflash")
        yield

    monkeypatch.setitem(host.LOOPS, "other", missing)
    monkeypatch.setattr(host.deep_pairs, "write", lambda config, folder: (folder, folder))
    monkeypatch.setattr(host, "parts", lambda *_: host.Parts(1, 1, 2, 2, 1.5, 1.5, 1, 2, 3, 4))
    report = host.measure(["qwen3, 32 layers"], ["other"])
    assert "cannot run: dflash is not installed here" in host.table(report)


def test_every_row_of_the_table_names_its_source() -> None:
    assert all(row.source and row.dispatches and row.names for row in dispatches.TABLE)
