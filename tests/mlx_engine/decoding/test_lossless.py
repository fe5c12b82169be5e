"""Plain decoding's text equals mlx-lm's, and DFlash's the same for any prompt and limit.

Families, drafters and ways to sample are in test_plain_text.py, rounds of a reference loop in test_golden_drafters.py.

The tests use the reference BLAS of MLX's wheel, with which passes of 1 and of n rows agree bit for bit.
"""

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.generate import generate_step

from mlx_engine.contract.requests import Message
from mlx_engine.decoding.prefill import prefill
from mlx_engine.formats import chat_prompt
from tests.demo_pair.corpus.questions import fresh_questions
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.drafters.drafter_cases import Sharpened

QUESTIONS = fresh_questions(count=60, seed=20261120)


def plainly(model, prompt, limit, ends):
    """Return the greedy tokens of mlx-lm's own loop, up to and including an end token."""
    out = []
    for token, _ in generate_step(mx.array(list(prompt)), model, max_tokens=limit):
        out.append(token)
        if token in ends:
            break
    return tuple(out)


@sampled(4)
@given(
    prompt=st.lists(st.integers(3, 123), min_size=1, max_size=60),
    width=st.sampled_from([None, 1, 2, 3, 5, 8]),
    temperature=st.sampled_from([0.0, 0.6, 1.0]),
    seed=st.integers(0, 2**64 - 1),
    limit=st.integers(1, 40 if SAMPLE else 80),
    ignore_eos=st.booleans(),
)
def test_the_tiny_pair_gives_the_plain_text(tiny, tiny_by_mlx_lm, prompt, width, temperature, seed, limit, ignore_eos):
    options = {"temperature": temperature, "seed": seed, "max_tokens": limit, "ignore_eos": ignore_eos}
    plain = reply(tiny, tokens(prompt, mode="plain", **options))
    drafted = reply(tiny, tokens(prompt, width=width, **options))
    assert (drafted.tokens, drafted.reason) == (plain.tokens, plain.reason)
    if temperature == 0 and not ignore_eos:
        assert plain.tokens == plainly(tiny_by_mlx_lm, prompt, limit, tiny.pair.tokenizer.eos_token_ids)


@pytest.mark.long
@given(
    asked=st.sampled_from(QUESTIONS),
    width=st.sampled_from([None, 2, 4, 8, 16]),
    temperature=st.sampled_from([0.0, 0.3, 0.6, 1.0, 1.5]),
    seed=st.integers(0, 2**32 - 1),
    limit=st.integers(1, 24),
)
def test_the_demo_pair_gives_the_plain_text(demo, demo_by_mlx_lm, asked, width, temperature, seed, limit):
    prompt = chat_prompt.template(demo.pair.tokenizer, [Message(**turn) for turn in asked.messages], asked.thinking)
    options = {"temperature": temperature, "seed": seed, "max_tokens": limit}
    plain = reply(demo, tokens(prompt, mode="plain", **options))
    assert reply(demo, tokens(prompt, width=width, **options)).tokens == plain.tokens
    if temperature == 0:
        assert plain.tokens == plainly(demo_by_mlx_lm, prompt, limit, demo.pair.tokenizer.eos_token_ids)


@pytest.mark.parametrize("pair", ["tiny", "dspark", "eagle3", "mtp"])
@sampled(4)
@given(seed=st.integers(0, 99), rows=st.integers(2, 8))
def test_the_noise_of_each_position_decides_its_proposal(pair, request, seed, rows):
    """Noise that outweighs the logits of one token per position, of those that the drafter can propose."""
    engine = request.getfixturevalue(pair).pair
    caches, context = engine.target.caches(), engine.drafter.context()
    list(prefill(engine.target, caches, (73, 119, 51, 37), engine.drafter, context))
    own = engine.drafter.ends.tokens
    proposable = mx.arange(engine.drafter.config.vocab_size) if own is None else own
    wanted = proposable[mx.random.randint(0, proposable.size, (rows - 1,), key=mx.random.key(seed))]
    noise = mx.zeros((rows + 2, engine.target.vocabulary))
    noise[mx.arange(rows - 1), wanted] = 1e4
    found = engine.drafter.propose(context, mx.array([9], mx.uint32), rows, Sharpened(), noise)
    assert found.tolist() == wanted.tolist()
