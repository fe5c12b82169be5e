"""Replies whose grammar has no way on: plain decoding and DFlash write the same tokens, and end with the same error."""

import json
import re
from itertools import product
from weakref import WeakKeyDictionary

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from mlx_engine.engine.engine import Engine
from mlx_engine.formats import token_grammar
from mlx_engine.formats.token_grammar import reply_grammar
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import events
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.formats.made_schemas import made_schema
from tests.mlx_engine.formats.made_tokenizers import MARKERS, QWEN3, ids, made
from tests.mlx_engine.formats.test_grammar import ask, ask_tiny, is_ascii, letters

SCHEMA_SEEDS = [seed for seed in range(200) if is_ascii(made_schema(seed))]
LIMITS = {"step_lexer_fuel": 300, "step_max_items": 15, "max_lexer_states": 80}  # up to which replies may fail


@pytest.fixture(scope="module")
def tiny_letters() -> Engine:
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    engine.pair.tokenizer = letters()
    return engine


def outcome(engine: Engine, request: GenerationRequest) -> tuple[str, list[int], object]:
    """Return everything that a client sees: the text, its tokens, and the end."""
    *seen, end = events(engine, request)
    commits = [event for event in seen if isinstance(event, Commit)]
    assert isinstance(end, Finished | Failed)
    last = (end.code, end.message) if isinstance(end, Failed) else end.reason
    return "".join(each.text for each in commits), [token for each in commits for token in each.tokens], last


@st.composite
def limits(draw):
    name = draw(st.sampled_from(sorted(LIMITS)))
    return name, draw(st.integers(1, LIMITS[name]))


@pytest.mark.parametrize("mode", ["plain", "dflash"])
def test_a_schema_ends_a_reply_that_ignores_end_tokens(tiny_letters, mode):
    text, _, reason = outcome(
        tiny_letters, ask_tiny(Sampling(0.0), mode=mode, schema='{"const": [7]}', ignore_eos=True, max_tokens=60)
    )
    assert json.loads(text) == [7] and reason == "eos"


@sampled(6)
@given(limits(), st.sampled_from(SCHEMA_SEEDS), st.sampled_from([0.0, 0.8]), st.sampled_from([2, 3, 5, 8, None]))
def test_a_limit_ends_plain_decoding_and_dflash_at_the_same_token(tiny_letters, limit, seed, temperature, width):
    options = {"schema": json.dumps(made_schema(seed)), "sampling": Sampling(temperature), "seed": seed, "max_tokens": 60}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(token_grammar._LIMITS, *limit)
        patch.setattr(token_grammar, "_compilers", WeakKeyDictionary())
        plain = outcome(tiny_letters, ask_tiny(mode="plain", **options))
        assert outcome(tiny_letters, ask_tiny(width=width, **options)) == plain


def test_a_limit_ends_a_reply_within_its_text_and_the_next_one_there_too(tiny_letters, monkeypatch):
    monkeypatch.setitem(token_grammar._LIMITS, "max_lexer_states", 60)
    monkeypatch.setattr(token_grammar, "_compilers", WeakKeyDictionary())
    request = ask_tiny(mode="plain", schema=json.dumps(made_schema(0)), sampling=Sampling(), seed=0, max_tokens=60)
    text, tokens, end = outcome(tiny_letters, request)
    assert text and end[0] == "reply_stuck", (text, end)
    assert outcome(tiny_letters, request) == (text, tokens, end), "the next reply ends elsewhere"


SPECIAL = "</tool_call><|im_end|>"
WITH_SPECIAL_TOKENS = (
    {"const": SPECIAL},
    {"const": "<|im_end|>"},
    {"enum": ["a<think>b", "a<think>c"]},
    {"enum": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]},
    {"type": "string", "pattern": r"^<\|im_(end|start)\|>$"},
    {"type": "string", "pattern": r"^[<]\|im_end[|]>{2}$"},
    {"type": "array", "items": {"const": "<|im_end|><|im_end|>"}, "minItems": 2, "maxItems": 2},
    {"type": "object", "properties": {SPECIAL: {"enum": [1, 2]}}, "required": [SPECIAL], "additionalProperties": False},
    {"const": {"<|im_end|>": ["<|im_end|", "<|im_end|>>"]}},
)


@pytest.mark.parametrize("number", range(len(WITH_SPECIAL_TOKENS)))
def test_the_text_of_special_tokens_is_written_with_other_tokens(demo, number):
    """In a sample at one of two temperatures and widths, in turn."""
    schema, ways = WITH_SPECIAL_TOKENS[number], [*product((0.0, 0.8), (5, None))]
    for temperature, width in [ways[number % 4]] if SAMPLE else ways:
        check_special(demo, schema, temperature, width)


def check_special(demo, schema, temperature, width):
    options = {"schema": json.dumps(schema), "sampling": Sampling(temperature), "seed": 1, "max_tokens": 90}
    text, tokens, end = plain = outcome(demo, ask("plain", **options))
    assert end == "eos" and Draft202012Validator(schema).is_valid(json.loads(text))
    assert not {0, 1, 2, 3, 4, 5} & set(tokens[:-1])
    assert outcome(demo, ask(width=width, **options)) == plain


@given(st.data())
def test_strings_that_contain_special_tokens_are_written_in_every_family(data):
    """A random walk within the grammar writes the string, without the special tokens."""
    family = data.draw(st.sampled_from(sorted(MARKERS)))
    tokenizer = made(family, QWEN3)
    special = sorted(tokenizer.get_added_vocab())
    parts = data.draw(st.lists(st.sampled_from([*special, "<", "|>", "a", '"', "\\", "ö", "\n", ""]), min_size=1, max_size=5))
    schema = {"const": "".join(parts)} if data.draw(st.booleans()) else {"enum": ["".join(parts), parts[0] + "!", "z"]}
    request = GenerationRequest(messages=(Message("user", "Hi"),), schema=json.dumps(schema))
    state, size, written = reply_grammar(tokenizer, request, (), 0), len(tokenizer), list[int]()
    if family in ("harmony", "muse"):
        state.add(ids(tokenizer, "<|start|>assistant<|channel|>final<|message|>" if family == "harmony" else ""))
    never = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    ends = set(tokenizer.eos_token_ids)
    while not ends & set(written):
        allowed = {at for at, value in enumerate(state.mask(mx.zeros((1, size)))[0].tolist()) if value == 0}
        assert not allowed & (never - ends) and (allowed <= ends or not allowed & ends)
        written.append(data.draw(st.sampled_from(sorted(allowed))))
        state.add(written[-1:])
    assert Draft202012Validator(schema).is_valid(json.loads(tokenizer.decode(written[:-1])))


def test_a_draft_after_which_the_reply_fails_is_left_to_the_target(monkeypatch):
    tokenizer = made("think", QWEN3)
    request = GenerationRequest(messages=(Message("user", "Hi"),), schema=json.dumps({"const": "abcdef"}))
    state, size, draft = reply_grammar(tokenizer, request, (), 0), len(tokenizer), ids(tokenizer, '"abcdef')
    fails = token_grammar._stuck("a reason")

    def computed(self, original=token_grammar._State._computed):
        if self.matcher.deep_copy().compute_ff_bytes() == b'ef"':
            raise fails
        return original(self)

    monkeypatch.setattr(token_grammar._State, "_computed", computed)
    assert state.usable(draft) == 4 and state.usable(draft[:4]) == 4 and state.usable(draft[:5]) == 4
    allowed = state.mask(mx.zeros((5, size)), draft[:4]) == 0
    assert allowed.sum(axis=-1).tolist() == [3, 1, 1, 1, 1]
    state.add(draft[:4])
    assert not state.stuck
    state.add(draft[4:5])
    assert state.stuck
    with pytest.raises(UserError, match=re.escape("a reason")):
        state.mask(mx.zeros((1, size)))
