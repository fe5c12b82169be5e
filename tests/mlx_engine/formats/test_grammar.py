"""Answers that satisfy a schema: every complete one validates, and DFlash's text equals plain text."""

import io
import json
import re
import subprocess
import sys
import tarfile
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatch
from importlib.metadata import version
from itertools import count
from pathlib import Path

import mlx.core as mx
import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import CompletedReply, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.parts.chooser import run_chains
from mlx_engine.engine.engine import Engine
from mlx_engine.formats.token_grammar import reply_grammar
from tests.examples import SAMPLE
from tests.mlx_engine.asking import events, failure, question, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.formats.made_schemas import made_schema
from tests.mlx_engine.formats.made_tokenizers import HARMONY, OPENS_THINKING, QWEN3, ids, made

POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}, "tag": {"enum": ["left", "right"]}},
    "required": ["x", "tag"],
    "additionalProperties": False,
}


def is_valid(answer: str, schema: object) -> bool:
    exact, value = (json.loads(text, parse_float=Decimal) for text in (json.dumps(schema), answer))  # for `multipleOf`
    return validator_for(schema, Draft202012Validator)(exact).is_valid(value)


def ask(mode: str = "dflash", **options) -> GenerationRequest:
    return question("What is 5 times 7?", mode=mode, **options)


def answers(engine, schema: object, temperature: float, seed: int, widths, asked=ask, **options) -> CompletedReply:
    """Return the plain reply, after comparing it with DFlash's at these widths."""
    options = {"schema": json.dumps(schema), "sampling": Sampling(temperature), "seed": seed, "max_tokens": 400, **options}
    plain = reply(engine, asked(mode="plain", **options))
    for width in widths:
        drafted = reply(engine, asked(width=width, **options))
        assert (drafted.tokens, drafted.reason) == (plain.tokens, plain.reason), (schema, width)
    return plain


def checked(engine, seed: int, temperature: float, widths, asked=ask) -> bool:
    """Check the answer to a made schema, and return whether it is complete."""
    schema = made_schema(seed)
    plain = answers(engine, schema, temperature, seed, widths, asked)
    assert plain.reason in ("eos", "length")
    if plain.reason == "eos":
        assert is_valid(plain.text, schema), (schema, plain.text)
    return plain.reason == "eos"


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_made_schemas_are_satisfied_at_every_width(demo, temperature):
    for seed in (range(0, 5) if temperature else range(5, 10))[: 2 if SAMPLE else None]:
        checked(demo, seed, temperature, ((5,), (16,), (None, 2))[seed % 3])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(0, 100, 2))
def test_made_schemas_are_satisfied_at_every_width_of_a_large_vocabulary(demo, seed):
    assert checked(demo, seed, 0.0, (1 + seed // 2 % 16,)) and checked(demo, seed + 1, 0.8, (16 - seed // 2 % 16, None))


def letters() -> TokenizerWrapper:
    """A tokenizer whose 128 tokens are the letters of ASCII, and an end token in place of the last."""
    shown = {letter: ord(letter) for letter in pre_tokenizers.ByteLevel.alphabet() if 33 <= ord(letter) < 127}
    hidden = sorted(letter for letter in pre_tokenizers.ByteLevel.alphabet() if 256 <= ord(letter) < 256 + 33)
    vocabulary = shown | {letter: byte for byte, letter in enumerate(hidden)}
    rules = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    rules.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    rules.decoder = decoders.ByteLevel()
    rules.add_tokens([AddedToken("<|end|>", special=True, normalized=False)])
    fast = PreTrainedTokenizerFast(tokenizer_object=rules, eos_token="<|end|>", clean_up_tokenization_spaces=False)
    return TokenizerWrapper(fast, BPEStreamingDetokenizer, eos_token_ids=[127])


def is_ascii(schema: object) -> bool:
    text = json.dumps(schema)
    return text.isascii() and "\\u" not in text


def ask_tiny(sampling: Sampling, **options) -> GenerationRequest:
    return tokens((9, 33, 44), sampling.temperature, **options)


@pytest.fixture(scope="module")
def tiny_letters() -> Engine:
    """The pair of `tiny`, whose widths are 1 to 8, with a token for each letter."""
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    engine.pair.tokenizer = letters()
    return engine


EVERY_WIDTH = (*range(1, 9), None)


@pytest.mark.long
@pytest.mark.parametrize("seed", [seed for seed in range(600) if is_ascii(made_schema(seed))][:500])
def test_500_made_schemas_are_satisfied_at_every_width(tiny_letters, seed):
    assert all(checked(tiny_letters, seed, temperature, EVERY_WIDTH, ask_tiny) for temperature in (0.0, 0.8))


@pytest.fixture(scope="session")
def public_schemas() -> list[object]:
    """The schemas of the JSON Schema Test Suite, from the source distribution of jsonschema on PyPI (MIT license)."""
    folder = Path(__file__).parents[3] / "build" / "json_schema_suite"
    if not folder.exists():
        package = f"jsonschema=={version('jsonschema')}"
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:", "-d", folder, package]
        subprocess.run(command, check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        files = [name for name in sorted(archive.getnames()) if fnmatch(name, "*/json/tests/draft2020-12/*.json")]
        groups = [group for name in files for group in json.load(archive.extractfile(name) or io.BytesIO())]
    return [group["schema"] for group in groups]


def public_answer(engine, schema: object, seed: int, temperature: float, widths, asked=ask) -> bool | None:
    """Check the answer to a public schema. Return whether it is complete, or None if the schema is refused."""
    options = {"sampling": Sampling(temperature), "seed": seed, "max_tokens": 80}
    end = events(engine, asked(mode="plain", schema=json.dumps(schema), **options))[-1]
    if isinstance(end, Failed):
        assert end.code == "bad_schema"
        return None
    if not isinstance(end, Finished) or end.reason != "eos":
        return False
    plain = answers(engine, schema, temperature, seed, widths, asked, max_tokens=80)
    with suppress(re.error, InvalidOperation):  # jsonschema knows no Unicode classes, and Decimal no very long exponents
        assert is_valid(plain.text, schema), (schema, plain.text)
    return True


@pytest.mark.long
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_public_schemas_are_satisfied_at_every_width(tiny_letters, public_schemas, temperature):
    """More than half of the schemas aren't supported by llguidance, and are refused."""
    found = [public_answer(tiny_letters, *each, temperature, EVERY_WIDTH, ask_tiny) for each in zip(public_schemas, count())]
    assert found.count(True) > 180, (found.count(True), found.count(False), found.count(None))


@pytest.mark.long
def test_50_public_schemas_are_satisfied_by_the_demo_pair(demo, public_schemas):
    """Most schemas allow endless answers, which may not end here."""
    complete = 0
    for seed, schema in enumerate(public_schemas):
        complete += bool(public_answer(demo, schema, seed, (0.0, 0.8)[seed % 2], (2, 5, 16)))
        if complete == 50:
            return
    pytest.fail(f"only {complete} answers are complete")


def test_a_draft_that_ends_in_another_lexeme_is_taken_back(demo):
    """llguidance's own rollback loses the state here."""
    assert checked(demo, 268, 0.0, (4,))


@pytest.mark.parametrize("pair", ["tiny", "tiny2"])
def test_other_targets_and_drafters_give_the_plain_text(pair, request, monkeypatch):
    """DFlash with full attention, and DFlash 2 with gated deltas, with random weights."""
    engine = request.getfixturevalue(pair)
    monkeypatch.setattr(engine.pair, "tokenizer", letters())
    for seed in range(5):
        if is_ascii(made_schema(seed)):
            widths = (2, 5, 8, None)
            checked(engine, seed, 0.8 * (seed % 2), widths[seed % 4 :][:1] if SAMPLE else widths, ask_tiny)


def test_filters_and_penalties_apply_to_the_allowed_tokens(demo):
    sampling = Sampling(0.8, top_p=0.9, top_k=5, min_p=0.01, repetition_penalty=1.2, presence_penalty=0.3)
    plain = answers(demo, POINT, 0.8, 3, (7,) if SAMPLE else (2, 7, None), sampling=sampling, logit_bias=((5, 4.0),))
    assert is_valid(plain.text, POINT)


def test_thinking_is_free(demo):
    plain = answers(demo, POINT, 0.0, 0, (16,) if SAMPLE else (4, 16, None), thinking=True)
    assert plain.reason == "eos" and plain.thinking and is_valid(plain.text, POINT)


def test_an_unfinished_answer_continues_within_its_schema(demo):
    plain = answers(demo, POINT, 0.8, 5, (4,), continue_from='{"x": 7, "ta')
    assert is_valid('{"x": 7, "ta' + plain.text, POINT)


UNSUPPORTED = {
    "not": {"not": {"type": "string"}},
    "if": {"if": {"type": "string"}, "then": {"const": 1}},
    "contains": {"type": "array", "contains": {"const": 1}},
    "propertyNames": {"type": "object", "propertyNames": {"pattern": "a"}},
    "dependentRequired": {"type": "object", "dependentRequired": {"a": ["b"]}},
    "unevaluatedProperties": {"unevaluatedProperties": False},
    "$dynamicRef": {"$dynamicRef": "#x"},
    "oneOf": {"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]},
    "pattern": {"type": "string", "pattern": "(?=a)b"},
    "$ref": {"$ref": "https://example.org/schema"},
    "type": {"type": "text"},
    "minLength": {"type": "string", "minLength": 5, "maxLength": 3},
    "minimum": {"type": "number", "minimum": 3, "maximum": 2},
    "required": {"type": "object", "additionalProperties": False, "required": ["a"]},
    "multipleOf": {"allOf": [{"type": "integer", "multipleOf": 9973}, {"multipleOf": 9967}]},
}


@pytest.mark.parametrize("keyword", UNSUPPORTED)
def test_an_unsupported_schema_is_refused_by_its_keyword(demo, keyword):
    seen = events(demo, question("Hi", schema=json.dumps(UNSUPPORTED[keyword])))
    assert isinstance(seen[-1], Failed) and seen[-1].code == "bad_schema"
    assert keyword in seen[-1].message


@pytest.mark.parametrize(
    "schema",
    ["", "nothing", "5", "[]", "null", "false", "{}" * 200_000, '{"items":' * 900 + "{}" + "}" * 900, '{"minimum": NaN}',
     '{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}', '{"const": "\\ud800"}',
     json.dumps({"allOf": [{"anyOf": [{"required": [f"a{at}"]}, {"required": [f"b{at}"]}]} for at in range(20)]})],
    ids=range(12),
)  # fmt: skip
def test_a_hostile_schema_is_refused(demo, schema):
    assert "schema" in failure(demo, question("Hi", schema=schema))


def test_options_of_the_grammar_library_are_ignored(demo):
    schema = {"x-guidance": {"lenient": True}, "not": {"type": "string"}}
    assert "not" in failure(demo, question("Hi", schema=json.dumps(schema)))


def state(tokenizer, schema=None, prompt=(), **options):
    request = GenerationRequest(messages=(Message("user", "Hi"),), schema=schema and json.dumps(schema), **options)
    return reply_grammar(tokenizer, request, prompt, 0)


def allowed(grammar, drafts, size):
    """Return the texts of the tokens that are allowed after these drafts."""
    logits = grammar.mask(mx.zeros((len(drafts) + 1, size)), drafts)
    return {at for at, value in enumerate(logits[-1].tolist()) if value == 0}


def test_the_grammar_masks_each_row_of_a_draft_and_takes_it_back():
    tokenizer = made("think", QWEN3)
    grammar, size = state(tokenizer, POINT), len(tokenizer) + 40
    draft = ids(tokenizer, '{"x":12')
    masked = grammar.mask(mx.zeros((len(draft) + 1, size)), draft)
    counts = (masked == 0).sum(axis=-1).tolist()
    assert counts[2] == 1 and counts[-3:-1] == [12, 3]  # the name; digits or whitespace; whitespace or a comma
    assert counts[-1] == size  # "12" is forbidden, so no draft is accepted there
    grammar.add(draft[:-1])
    assert allowed(grammar, (), size) == allowed(state(tokenizer, POINT), draft[:-1], size)
    assert all(token < len(tokenizer) for token in allowed(grammar, (), size))  # padded rows of the head


def test_a_reply_ends_only_with_a_complete_answer():
    tokenizer = made("think", QWEN3)
    ends, size = set(tokenizer.eos_token_ids), len(tokenizer)
    grammar = state(tokenizer, POINT)
    assert not ends & allowed(grammar, (), size)
    grammar.add(ids(tokenizer, '{"x":1,"tag":"left"}'))
    assert allowed(grammar, (), size) == ends


def test_thinking_may_come_first_and_not_again():
    tokenizer = made("think", QWEN3)
    begin, end = ids(tokenizer, "<think></think>")
    size = len(tokenizer)
    assert begin not in allowed(state(tokenizer, POINT), (), size)
    grammar = state(tokenizer, POINT, thinking=True)
    assert begin in allowed(grammar, (), size)
    grammar.add([begin, *ids(tokenizer, "{ anything")])
    assert allowed(grammar, (), size) == set(range(size)) - set(tokenizer.eos_token_ids)
    grammar.add([end])
    assert allowed(grammar, (), size) == {*b" \n{"}
    opened = state(made("think", OPENS_THINKING), POINT, ids(tokenizer, "<think>\n"), thinking=True)
    assert end in allowed(opened, (), size)


def test_messages_with_headers_are_constrained_from_the_final_one_on():
    tokenizer = made("harmony", HARMONY)
    grammar, size = state(tokenizer, POINT, ids(tokenizer, "<|start|>assistant")), len(tokenizer)
    thought = "<|channel|>analysis<|message|>any { text<|end|><|start|>assistant<|channel|>final<|message|>"
    for token in ids(tokenizer, thought):
        assert token in allowed(grammar, (), size)
        grammar.add([token])
    assert allowed(grammar, (), size) == {*b" \n{"}
    grammar.add(ids(tokenizer, '{"x":1,"tag":"left"}'))
    assert allowed(grammar, (), size) == set(tokenizer.eos_token_ids)


def test_proposals_follow_the_grammar():
    tokenizer = made("think", QWEN3)
    grammar = state(tokenizer, POINT)
    scores = mx.random.normal((24, len(tokenizer)), key=mx.random.key(1))
    drafts = grammar.path(scores)
    choosing = Chooser(Sampling(), 0, grammar=grammar).chain(drafts[:1], 24, None)
    [chain] = run_chains([choosing], lambda going, row, before: scores[row : row + 1])
    assert chain.tolist() == drafts.tolist()
    masked = grammar.mask(mx.zeros((25, len(tokenizer))), drafts.tolist())
    assert (mx.take_along_axis(masked[:-1], drafts[:, None], axis=-1) == 0).all().item()


def test_a_tokenizer_without_rules_is_refused(monkeypatch):
    tokenizer = made("muse", QWEN3)
    monkeypatch.setattr(type(tokenizer._tokenizer), "backend_tokenizer", None)
    with pytest.raises(UserError, match="tokenizer"):
        state(tokenizer, POINT)
