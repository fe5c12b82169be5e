"""Kimi's tokenizers: ids and texts equal the tiktoken package's, and damaged files are refused."""

import base64
import json
from pathlib import Path
from random import Random

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx.utils import tree_flatten
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from mlx_engine.engine.engine import Engine
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.call_reader import CallReader
from mlx_engine.formats.format_registry import call_format, markers_of
from mlx_engine.formats.token_texts import TokenTexts
from mlx_engine.formats.tokenizer_files import read_tokenizer
from mlx_engine.models.files.loadable import check_loadable
from tests.examples import sampled
from tests.mlx_engine import tiny_families
from tests.mlx_engine.formats.made_calls import TOOLS, call
from tests.mlx_engine.formats.rank_files import RESERVED, SPECIAL, reference, texts, trained_ranks, write_kimi

BYTES = tuple(bytes([byte]) for byte in range(256))


@pytest.fixture(scope="module")
def kimi(tmp_path_factory: pytest.TempPathFactory) -> TokenizerWrapper:
    return read_tokenizer(write_kimi(tmp_path_factory.mktemp("kimi"), trained_ranks()), {})


def compare(tokenizer: TokenizerWrapper, ranks: tuple[bytes, ...], examples: list[str]) -> None:
    expected = reference(ranks)
    for text in examples:
        ids = expected.encode(text, allowed_special="all")
        assert tokenizer.encode(text, add_special_tokens=False) == ids, repr(text)
        assert tokenizer.decode(ids) == expected.decode(ids) == text


def test_ids_and_texts_equal_tiktokens(kimi):
    assert isinstance(kimi.detokenizer, BPEStreamingDetokenizer)
    compare(kimi, trained_ranks(), [*texts(400, seed=1)])


@pytest.mark.long
def test_ids_and_texts_equal_tiktokens_for_ten_thousand_texts(kimi):
    compare(kimi, trained_ranks(), [*texts(10_000, seed=2)])


@sampled(100)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_ids_of_any_text_equal_tiktokens(kimi, text):
    compare(kimi, trained_ranks(), [text])


@sampled(30)
@given(st.lists(st.integers(0, len(trained_ranks()) + RESERVED - 1), max_size=30))
def test_texts_of_any_ids_equal_tiktokens(kimi, ids):
    """Also of incomplete characters."""
    expected = reference(trained_ranks())
    assert kimi.decode(ids) == expected.decode(ids)
    assert [TokenTexts(kimi).text(number) for number in ids] == expected.decode_tokens_bytes(ids)


@sampled(30)
@given(st.integers(1, 60), st.integers(0, 2**32))
def test_ranks_in_any_order_merge_as_in_tiktoken(tmp_path_factory, count, seed):
    """No training makes such vocabularies: parts rank after their union, or are missing."""
    random = Random(seed)
    tokens = (bytes(random.choices(b"ab", k=random.randint(2, 7))) for _ in range(count))
    ranks = [*BYTES, *dict.fromkeys(tokens)]
    random.shuffle(ranks)
    folder = write_kimi(tmp_path_factory.mktemp("made"), tuple(ranks))
    compare(read_tokenizer(folder, {}), tuple(ranks), ["".join(random.choices("ab", k=random.randint(2, 40))) for _ in range(50)])


def test_special_tokens_have_the_ids_after_the_ranks(kimi):
    first = len(trained_ranks())
    assert len(kimi) == first + RESERVED and kimi.eos_token_ids == {first + 1}
    for at in range(RESERVED):
        text = SPECIAL.get(at, f"<|reserved_token_{first + at}|>")
        assert kimi.encode(text) == [first + at] and kimi.convert_ids_to_tokens(first + at) == text
    assert (kimi.bos_token_id, kimi.pad_token_id, kimi.unk_token_id) == (first, first + 255, first + 254)


def test_chats_and_calls_are_written_and_read_in_kimis_format(kimi):
    form, markers = call_format(kimi), markers_of(kimi)
    assert form is not None and form.names == ("kimi_k2",) and markers is not None
    assert [*markers.next_section["answer"]] == [(kimi.convert_tokens_to_ids("<think>"),)]
    calls = [call("weather", {"city": "北京"}), call("clock", {})]
    calls = [ToolCall(f"functions.{each.name}:{at}", each.name, each.arguments) for at, each in enumerate(calls)]
    messages = (
        Message("user", "Hi"),
        Message("assistant", "Let me see.", thinking="Which city?", calls=tuple(calls)),
        Message("tool", "Sunny", call_id=calls[0].id),
        Message("tool", "12:00", call_id=calls[1].id),
    )
    ids = chat_prompt.template(kimi, messages, thinking=True, tools=TOOLS)
    text = kimi.decode(ids)
    assert reference(trained_ranks()).encode(text, allowed_special="all") == list(ids)
    assert text.startswith("<|im_system|>tool_declare<|im_middle|>[{") and text.endswith("assistant<|im_middle|><think>")
    assert "<think>Which city?</think>Let me see.<|tool_calls_section_begin|>" in text
    assert "<|im_system|>weather<|im_middle|>## Return of functions.weather:0\nSunny<|im_end|>" in text
    assert kimi.decode(chat_prompt.template(kimi, messages[:1], thinking=False)).endswith("<think></think>")
    block = text[text.index("<|tool_calls_section_begin|>") : text.index("<|im_end|>", text.index("Which city"))]
    reader = CallReader(form, TOOLS)
    found = [each for part in (*reader.add(block), *reader.finish(True)) for each in part.calls]
    assert [(each.id, each.name, json.loads(each.arguments)) for each in found] == [
        (calls[0].id, "weather", {"city": "北京"}),
        (calls[1].id, "clock", {}),
    ]


def tiny_kimi(folder: Path) -> Path:
    """A tiny random Kimi with the files of its repos, without a tokenizer.json."""
    ranks = trained_ranks()[:400]
    config = json.loads(json.dumps(tiny_families.CONFIGS["kimi_k25"]))
    config["text_config"]["vocab_size"] = len(ranks) + RESERVED
    config["eos_token_id"] = len(ranks) + 2
    target = tiny_families.save("kimi_k25", folder / "target")
    weights = dict(tree_flatten(tiny_families.build("kimi_k25").parameters()))
    for name in ("embed_tokens.weight", "lm_head.weight"):
        (full,) = (each for each in weights if each.endswith(name))
        weights[full] = mx.random.normal((len(ranks) + RESERVED, weights[full].shape[1]), key=mx.random.key(3))
    mx.save_safetensors(str(target / "model.safetensors"), weights)
    (target / "config.json").write_text(json.dumps(config))
    (target / "tokenizer.json").unlink()
    (target / "tokenization_kimi.py").write_text("raise SystemExit('ran')")
    return write_kimi(target, ranks)


def test_a_model_without_tokenizer_json_replies(tmp_path):
    engine = Engine()
    assert [*engine.load(tiny_kimi(tmp_path), None)]
    assert 402 in engine.pair.tokenizer.eos_token_ids
    events = [*engine.generate(GenerationRequest(messages=(Message("user", "你好, it's me"),), max_tokens=8, tools=TOOLS))]
    assert events[-1].reason == "length" and events[-1].stats.tokens == 8


def test_ranks_of_another_tokenizer_are_not_guessed(tmp_path):
    target = tiny_kimi(tmp_path)
    settings = json.loads((target / "tokenizer_config.json").read_text())
    for code in ("tokenization_other.TikTokenTokenizer", "tokenization_kimi.Other"):
        settings["auto_map"] = {"AutoTokenizer": [code, None]}
        (target / "tokenizer_config.json").write_text(json.dumps(settings))
        with pytest.raises(UserError, match=code):
            check_loadable(target, None)
    settings["auto_map"] = {"AutoTokenizer": "moonshotai/Kimi-K2.5--tokenization_kimi.TikTokenTokenizer"}
    (target / "tokenizer_config.json").write_text(json.dumps(settings))
    check_loadable(target, None)


def line(token: bytes, rank: object) -> bytes:
    return base64.b64encode(token) + f" {rank}\n".encode()


WHOLE = b"".join(line(token, rank) for rank, token in enumerate(BYTES))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lacks or repeats tokens"),
        (WHOLE.partition(b"\n")[2], "lacks or repeats tokens"),
        (WHOLE + line(b"ab", 257), "lacks or repeats tokens"),
        (WHOLE + line(b"a", 256), "lacks or repeats tokens"),
        (WHOLE + line(b"ab", 3), "no valid token and rank in line 257"),
        (WHOLE + line(b"", 256), "no valid token and rank in line 257"),
        (WHOLE + line(b"a" * 1001, 256), "no valid token and rank in line 257"),
        (WHOLE + line(b"ab", -1), "no valid token and rank in line 257"),
        (WHOLE + line(b"ab", "1e3"), "no valid token and rank in line 257"),
        (WHOLE + line(b"ab", "9" * 5000), "no valid token and rank in line 257"),
        (WHOLE + line(b"ab", "\u0662"), "no valid token and rank in line 257"),
        (WHOLE + b"YWI=\n", "no valid token and rank in line 257"),
        (WHOLE + b"YWI= 256 1\n", "no valid token and rank in line 257"),
        (WHOLE + b"YW!I= 256\n", "no valid token and rank in line 257"),
        (WHOLE[:-9] + b"\x80\xff\n", "no valid token and rank in line 256"),
        (b"version https://git-lfs.github.com/spec/v1\n", "no valid token and rank in line 1"),
        (b"a" * 16_000_001, "more than 16,000,000 bytes"),
    ],
)
def test_damaged_ranks_are_refused(tmp_path, content, words):
    write_kimi(tmp_path, BYTES)
    (tmp_path / "tiktoken.model").write_bytes(content)
    with pytest.raises(UserError, match=words) as reported:
        read_tokenizer(tmp_path, {})
    assert reported.value.text.code == "rank_file_damaged" and ": tiktoken.model " in str(reported.value)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n"])
def test_lines_may_end_in_any_way(tmp_path, ending):
    write_kimi(tmp_path, BYTES)
    (tmp_path / "tiktoken.model").write_bytes(WHOLE.replace(b"\n", ending))
    assert read_tokenizer(tmp_path, {}).encode("ab") == [97, 98]


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ({"255": {"content": "<|a|>"}}, "invalid special token (255"),
        ({"512": {"content": "<|a|>"}}, "invalid special token (512"),
        ({"-1": {"content": "<|a|>"}}, "invalid special token (-1"),
        ({"x\u202e": {"content": "<|a|>"}}, r"invalid special token (x\u202e"),
        ({"9" * 5000: {"content": "<|a|>"}}, "invalid special token (9"),
        ({"256": {"content": ""}}, "invalid special token (256"),
        ({"256": {"content": 3}}, "invalid special token (256"),
        ({"256": {"content": "a" * 1001}}, "invalid special token (256"),
        ({"256": "<|a|>"}, "invalid special token (256"),
        ({"256": None}, "invalid special token (256"),
        ({"256": {"content": "<|a|>"}, "257": {"content": "<|a|>"}}, "names “<|a|>”, which is a token already"),
        ({"256": {"content": "<|reserved_token_300|>"}}, "names “<|reserved_token_300|>”, which is a token already"),
        ({"256": {"content": "a"}}, "names “a”, which is a token already"),
    ],
)
def test_damaged_special_tokens_are_refused(tmp_path, tokens, words):
    write_kimi(tmp_path, BYTES)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"added_tokens_decoder": tokens}))
    with pytest.raises(UserError) as reported:
        read_tokenizer(tmp_path, {})
    assert words in str(reported.value) and reported.value.text.code == "rank_file_damaged"


def test_tokens_of_up_to_a_thousand_bytes_merge_as_in_tiktoken(tmp_path):
    ranks = (*BYTES, *(b"a" * size for size in range(2, 1001)))
    compare(read_tokenizer(write_kimi(tmp_path, ranks), {}), ranks, ["a" * 37, "a" * 999 + "b", "a" * 5000])
