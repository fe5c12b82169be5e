"""Positions of prompts with images, compared with the reference and with a count of single tokens."""

import json
from itertools import accumulate

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.vision.spans import ImageSpan, positions, shift
from tests.golden.vision_case import Prompt, prompts
from tests.mlx_engine.conftest import GOLDEN

QWEN = GOLDEN / "vision/qwen3_5"
PROMPTS = [*prompts(json.loads((QWEN / "cases.json").read_text(encoding="utf-8")))]


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_positions_and_shift_equal_the_reference(prompt: Prompt) -> None:
    length = len(prompt.described["input_ids"])
    stored = np.array(mx.load(str(QWEN / "arrays.safetensors"))[f"{prompt.name}.position_ids"])
    found = positions(prompt.spans, length)
    assert found.dtype == np.int32
    assert (found == stored).all()
    assert shift(prompt.spans, length) == prompt.described["rope_delta"]


@st.composite
def made_prompts(draw: st.DrawFn) -> tuple[list[ImageSpan], int]:
    """Images of up to 6 by 6 tokens, with up to 3 tokens of text before each and after the last."""
    text, grids = st.integers(0, 3), st.tuples(st.integers(1, 6), st.integers(1, 6))
    spans: list[ImageSpan] = []
    for gap, grid in draw(st.lists(st.tuples(text, grids), max_size=5)):
        spans.append(ImageSpan((spans[-1].end if spans else 0) + gap, grid, ""))
    return spans, (spans[-1].end if spans else 0) + draw(text)


@given(made_prompts(), st.data())
def test_a_prompt_cut_anywhere_keeps_its_positions_and_continues_after_the_largest(
    prompt: tuple[list[ImageSpan], int], data: st.DataObject
) -> None:
    spans, length = prompt
    whole = positions(spans, length)
    cut = data.draw(st.integers(0, length))
    assert (positions(spans, cut) == whole[:, :cut]).all()
    assert cut + shift(spans, cut) == max((int(whole[:, :cut].max()) + 1,) if cut else (0,))


@given(made_prompts())
def test_positions_of_tokens_counted_one_by_one(prompt: tuple[list[ImageSpan], int]) -> None:
    spans, length = prompt
    inside = {span.start + index: (span, index) for span in spans for index in range(span.end - span.start)}
    # Each image takes as many positions as its longer side, each other token one
    widths = [max(inside[at][0].grid) * (inside[at][1] == 0) if at in inside else 1 for at in range(length)]
    starts = [0, *accumulate(widths)]
    expected = []
    for at in range(length):
        span, index = inside.get(at, (None, 0))
        start = starts[at - index]
        expected.append((start, start + index // span.grid[1], start + index % span.grid[1]) if span else (start,) * 3)
    assert positions(spans, length).T.tolist() == [list(three) for three in expected]
