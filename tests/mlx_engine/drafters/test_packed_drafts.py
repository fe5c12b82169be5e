"""Blocks of several streams that are drafted in one pass are those that each stream gets alone, and so are their contexts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.utils import load_model

from mlx_engine.decoding.noise import gumbel
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.chooser import ProposalChooser
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.drafters.registry import parse, tapped
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.loading.drafter_files import load
from mlx_engine.models.configs.families import family_of
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.targets import target as targets
from mlx_engine.targets.target import Target
from tests.examples import sampled
from tests.mlx_engine.conftest import GOLDEN, save_dspark, sliding

VOCABULARY, BLOCK = 120, 8


class Heard(ProposalChooser):
    """Proposes the largest of logits plus noise, and keeps the logits."""

    def __init__(self) -> None:
        self.logits: list[mx.array] = []

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        self.logits.append(logits)
        return mx.argmax(logits if noise is None else logits + noise[: logits.shape[0]], axis=-1)


@dataclass(frozen=True)
class Spec:
    """A stream.

    Attributes:
        lengths: rows of the injections before the block.
        rows: of the block.
        seed: of its noise; None if greedy.
        queued: bounds of the position below and above, if only the device knows it.
    """

    lengths: tuple[int, ...]
    rows: int
    seed: int | None
    queued: tuple[int, int] | None
    data: int

    def rows_of(self, index: int, size: int, dtype: mx.Dtype) -> tuple[mx.array, mx.array]:
        """Return the features and tokens of an injection."""
        draw = np.random.default_rng((self.data, index))
        features = mx.array(draw.normal(size=(self.lengths[index], size)).astype(np.float32)).astype(dtype)
        return features, mx.array(draw.integers(0, VOCABULARY, self.lengths[index]), mx.uint32)

    def block(self, context: DraftContext) -> Block:
        position = context.position
        if self.queued is not None:
            low, high = max(position - self.queued[0], 1), position + self.queued[1]
            context.place(DevicePosition(mx.array([position], mx.int32), low, high).span(self.rows))
        noise = None if self.seed is None else gumbel(self.seed, position + 1, self.rows, 512)
        return Block(context, mx.array([self.data % VOCABULARY], mx.uint32), self.rows, Heard(), noise)


SPECS = st.builds(
    Spec,
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=3).map(tuple),
    rows=st.integers(2, BLOCK),
    seed=st.none() | st.integers(0, 1 << 40),
    queued=st.none() | st.tuples(st.integers(0, 3), st.integers(0, 5)),
    data=st.integers(0, 1 << 30),
)


@dataclass
class Pair:
    drafter: Drafter
    size: int  # of a position's features
    vocabulary: int
    contexts: list[DraftContext] = field(default_factory=list)


Folders = Callable[[str], tuple[Path, Path]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Folders:
    """Folders of a target and a drafter of each kind."""
    made = {
        "dflash": (GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter"),
        "windows": (GOLDEN / "e2e_qwen3" / "target", sliding(GOLDEN / "e2e_qwen3" / "drafter", tmp_path_factory.mktemp("w") / "d")),
        "dflash2": (GOLDEN / "e2e_qwen3_5" / "target", GOLDEN / "e2e_qwen3_5" / "drafter"),
        "dspark": (GOLDEN / "dspark_3" / "target", save_dspark(tmp_path_factory.mktemp("s") / "d")),
        "eagle3": (GOLDEN / "eagle3_2" / "target", GOLDEN / "eagle3_2" / "drafter"),
        "mtp": (GOLDEN / "mtp_2" / "target", GOLDEN / "mtp_2" / "target"),
        "assistant": (GOLDEN / "gemma4_assistant_2" / "target", GOLDEN / "gemma4_assistant_2" / "drafter"),
    }
    return made.__getitem__


KINDS = ("dflash", "windows", "dflash2", "dspark", "eagle3", "mtp", "assistant")


@pytest.fixture(scope="module")
def pair_of(folders):
    known: dict[tuple[str, mx.Dtype], Pair] = {}

    def pair(kind: str, dtype: mx.Dtype, bits: int) -> Pair:
        if (kind, dtype) not in known:
            target_folder, drafter_folder = folders(kind)
            model, config = load_model(target_folder)
            model.set_dtype(dtype)
            layers, read = [*model.layers], parse(read_config(drafter_folder))
            target = Target(model, VOCABULARY, family_of(config), tapped(read, layers))
            drafter = load(drafter_folder, dtype, target.embed, target.head, bits, layers)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(targets, "share_mask", lambda cache: None)  # a float32 mask, which bfloat16 can't have
                features = target.forward_tapped(mx.array([3]), target.caches())[1]
            known[kind, dtype] = Pair(drafter, features.shape[1], target.vocabulary)
        return known[kind, dtype]

    return pair


def check(pair: Pair, specs: list[Spec], dtype: mx.Dtype, same: Callable[[mx.array, mx.array], None]) -> None:
    """Inject and draft together and alone, and compare contexts, scores, and drafts."""
    alone, together = ([pair.drafter.context() for _ in specs] for _ in range(2))
    for index in range(max(len(spec.lengths) for spec in specs)):
        live = [(at, *spec.rows_of(index, pair.size, dtype)) for at, spec in enumerate(specs) if index < len(spec.lengths)]
        pair.drafter.inject_packed([ContextRows(together[at], features, tokens) for at, features, tokens in live])
        for at, features, tokens in live:
            pair.drafter.inject(alone[at], features, tokens)
            assert together[at].position == alone[at].position
    for own, other in zip(alone, together, strict=True):
        for wanted, found in zip(own.state, other.state, strict=True):
            same(found, wanted)
    blocks, singly = (
        [spec.block(context) for spec, context in zip(specs, contexts, strict=True)] for contexts in (together, alone)
    )
    drafts = pair.drafter.propose_packed(blocks)
    for spec, found, block, own in zip(specs, drafts, blocks, singly, strict=True):
        wanted = pair.drafter.propose(own.context, own.anchor, own.rows, own.chooser, own.noise)
        assert found.tolist() == wanted.tolist() and found.size == spec.rows - 1
        for ours, theirs in zip(block.chooser.logits, own.chooser.logits, strict=True):
            same(ours, theirs)
        if own.context.confidence is not None:
            same(block.context.confidence, own.context.confidence)


def close(found: mx.array, wanted: mx.array) -> None:
    """BLAS may sum a row in another order if there are others."""
    assert found.shape == wanted.shape
    scale = max(1.0, float(mx.abs(wanted).max()))
    np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=0, atol=2e-4 * scale)


def equal(found: mx.array, wanted: mx.array) -> None:
    assert found.shape == wanted.shape and mx.array_equal(found, wanted)


@pytest.mark.parametrize("kind", KINDS)
@sampled(4, 200)
@given(specs=st.lists(SPECS, min_size=1, max_size=6))
def test_drafts_are_those_of_a_stream_alone(kind, pair_of, specs):
    check(pair_of(kind, mx.float32, 16), specs, mx.float32, close)


@pytest.mark.parametrize("kind", KINDS)
@sampled(4, 200)
@given(specs=st.lists(SPECS, min_size=1, max_size=6))
def test_scores_are_bit_equal_in_half_precision(kind, pair_of, specs):
    check(pair_of(kind, mx.bfloat16, 4), specs, mx.bfloat16, equal)
