"""The candidate selector: its path compared with a step-by-step walk, and its search for the largest with numpy."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.noise import gumbel
from mlx_engine.drafters.dflash.model import DFlashDrafter
from mlx_engine.drafters.dflash2.model import DFlash2Drafter, build, largest
from mlx_engine.drafters.parts.tensors import Tensors
from mlx_engine.drafters.registry import make, parse
from tests.mlx_engine.drafters.drafter_cases import Case, Sharpened

CASE = Case("06_dflash2")
DRAFTER = CASE.drafter()
assert isinstance(DRAFTER, DFlash2Drafter)


@given(rows=st.integers(1, 17), count=st.integers(1, 16), seed=st.integers(0, 2**32 - 1), sampled=st.booleans())
def test_the_path_takes_the_best_step_after_each_step(rows, count, seed, sampled):
    rng = np.random.default_rng(seed)
    tokens = np.stack([rng.choice(304, count, replace=False) for _ in range(rows)])
    scores = rng.normal(size=(rows, count, count)).astype(np.float32)
    noise = gumbel(seed, seed % 1000, rows + 1, 304) if sampled else None  # as in a round: one row more than there are proposals
    walked = DRAFTER.path(mx.array(tokens.astype(np.uint32)), mx.array(scores), Sharpened(), noise)
    at, expected = 0, []
    for row in range(rows):
        step = scores[row, at].astype(np.float64)
        if noise is not None:
            step = 2 * step + np.array(noise)[row, tokens[row]]
        at = int(step.argmax())
        expected.append(int(tokens[row, at]))
    assert walked.dtype == mx.uint32 and walked.tolist() == expected


@given(
    rows=st.integers(1, 4),
    n=st.sampled_from([16, 17, 1536, 16384, 16385, 20000]),
    seed=st.integers(0, 2**32 - 1),
    same=st.booleans(),
)
def test_the_largest_are_found(rows, n, seed, same):
    values = np.random.default_rng(seed).normal(size=(rows, n)).astype(np.float32)
    if same:
        values = values.round(1)  # with many ties
    found = np.array(largest(mx.array(values), 16))
    assert found.shape == (rows, 16) and found.dtype == np.uint32
    for row in range(rows):
        assert len(set(found[row])) == 16
        assert np.array_equal(np.sort(values[row, found[row]]), np.sort(values[row])[-16:])


@pytest.mark.parametrize("sampled", [False, True])
def test_proposals_at_every_width_are_the_path_through_that_passs_candidates(sampled):
    """At every width, proposals follow from the candidates and scores of the pass of that width."""
    context = DRAFTER.context()
    DRAFTER.inject(context, CASE.rounds["round_00.target_hidden"])
    anchor = CASE.rounds["round_00.block_ids"][:1].astype(mx.uint32)
    for width in range(2, 9):
        noise = gumbel(5, context.position + 1, width, 304) if sampled else None
        hidden = DRAFTER.hidden(context, anchor, width)
        logits = np.array(DRAFTER.logits(hidden), np.float64)
        left, right = (
            np.array(CASE.weights[f"candidate_selector.{name}_codebook"], np.float64) for name in ("predecessor", "successor")
        )
        edge = np.array(hidden, np.float64) @ np.array(CASE.weights["candidate_selector.hidden_projection.weight"], np.float64).T
        at, expected = int(anchor.item()), []
        for row in range(width - 1):
            tokens = np.argsort(-logits[row])[:16]
            score = logits[row, tokens] + right[tokens] @ (left[at] * edge[row])
            if noise is not None:
                score = 2 * score + np.array(noise)[row, tokens]
            at = int(tokens[score.argmax()])
            expected.append(at)
        assert DRAFTER.propose(context, anchor, width, Sharpened(), noise).tolist() == expected


def test_a_drafter_whose_activations_overflow_float16_runs_in_bfloat16():
    """In float16, its proposals were those of NaN: published drafters were accepted 0 to 6% of the time."""
    large = Case("06_dflash2")
    for name in ("layers.0.self_attn.o_proj.weight", "layers.0.mlp.down_proj.weight"):
        large.weights[name] = large.weights[name] * 3e5
    large.rounds["round_00.target_hidden"] = large.rounds["round_00.target_hidden"].astype(mx.float16)
    embed, head = (lambda ids: large.table.astype(mx.float16)[ids]), (lambda hidden: hidden @ large.head.T.astype(mx.float16))
    config, anchor = parse(large.config), large.rounds["round_00.block_ids"][:1].astype(mx.uint32)

    def hidden(drafter: DFlashDrafter) -> mx.array:
        context = drafter.context()
        drafter.inject(context, large.rounds["round_00.target_hidden"])
        return drafter.hidden(context, anchor, 8)

    exact = hidden(large.drafter())
    narrow = hidden(build(Tensors(dict(large.weights), mx.float16), config, embed, head, ()))
    drafter = make(config, dict(large.weights), mx.float16, embed, head)
    wide = hidden(drafter)
    assert mx.isfinite(exact).all() and not mx.isfinite(narrow).all()
    assert drafter.dtype == wide.dtype == mx.bfloat16 and mx.isfinite(wide).all()
    alike = (exact * wide).sum(-1) / (mx.linalg.norm(exact, axis=-1) * mx.linalg.norm(wide.astype(mx.float32), axis=-1))
    assert alike.min() > 0.99
    assert drafter.logits(wide).dtype == mx.float16, "the target's head keeps its own dtype"


@pytest.mark.parametrize("name", ["01_v1_full", "06_dflash2"])
def test_other_dtypes_are_those_of_the_target(name):
    for dtype in (mx.float32, mx.bfloat16, *([mx.float16] if name == "01_v1_full" else [])):
        assert Case(name).drafter(dtype).dtype == dtype
