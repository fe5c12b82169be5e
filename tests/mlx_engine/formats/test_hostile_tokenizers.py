"""The rules in tokenizer.json come from the hub: a tokenizer that hangs, crashes, or grows texts ends with one message."""

import base64
import json
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import sentencepiece_model_pb2
from transformers import PreTrainedTokenizerBase

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.engine.engine import Engine
from mlx_engine.formats import chat_prompt, template_sandbox, tokenizer_files
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.formats.made_tokenizers import made
from tests.mlx_engine.formats.test_template_sandbox import rendered, target_with


class Panic(BaseException):
    """Like the tokenizers library's, which is no `Exception`."""


def test_a_tokenizer_that_crashes_is_reported(monkeypatch):
    def crash(*args: Any, **options: Any) -> None:
        raise Panic("retry-limit-in-match over")

    monkeypatch.setattr(PreTrainedTokenizerBase, "get_chat_template", crash)
    with pytest.raises(UserError, match=r"tokenizer crashed \(retry-limit-in-match over\)") as reported:
        rendered("x")
    assert reported.value.text.code == "tokenizer_crashes"


@pytest.mark.parametrize("continued", [{"continue_from": "crash"}, {"continue_thinking": "crash"}])
def test_a_tokenizer_that_crashes_on_a_continued_reply_is_reported(monkeypatch, continued):
    encode = PreTrainedTokenizerBase.encode

    def crash(self: PreTrainedTokenizerBase, text: str, **options: Any) -> list[int]:
        if text == "crash":
            raise Panic("retry-limit-in-match over")
        return encode(self, text, **options)

    tokenizer = made("think", "{{ messages[0].content }}")
    monkeypatch.setattr(PreTrainedTokenizerBase, "encode", crash)
    with pytest.raises(UserError) as reported:
        chat_prompt.render(tokenizer, GenerationRequest(messages=(Message("user", "Hi"),), **continued))
    assert reported.value.text.code == "tokenizer_crashes"


def test_a_tokenizer_that_takes_too_long_is_reported(monkeypatch):
    monkeypatch.setattr(template_sandbox, "_TOKENIZER_SECONDS", 0.2)
    forever = threading.Event()
    monkeypatch.setattr(PreTrainedTokenizerBase, "get_chat_template", lambda *_, **__: forever.wait(600))
    with pytest.raises(UserError, match=r"tokenizer takes longer than 0\.2 seconds") as reported:
        rendered("x")
    forever.set()
    assert reported.value.text.code == "tokenizer_slow"


def test_stop_ends_waiting_for_a_tokenizer(monkeypatch):
    forever, cancel = threading.Event(), threading.Event()
    monkeypatch.setattr(PreTrainedTokenizerBase, "get_chat_template", lambda *_, **__: forever.wait(600))
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(WorkCancelled):
        rendered("x", cancel)
    forever.set()


def test_abandoned_threads_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(template_sandbox, "_TOKENIZER_SECONDS", 0.2)
    end, starts = threading.Event(), []
    monkeypatch.setattr(PreTrainedTokenizerBase, "get_chat_template", lambda *_, **__: (starts.append(1), end.wait(600), "x")[2])
    for _ in range(3):
        with pytest.raises(UserError, match="tokenizer takes longer"):
            rendered("x")
    assert len(starts) == 1
    with pytest.raises(UserError, match="tokenizer takes longer"):  # another tokenizer doesn't wait for this one
        rendered("y")
    assert len(starts) == 2
    canceled = threading.Event()
    canceled.set()
    with pytest.raises(WorkCancelled):
        rendered("x", canceled)
    assert len(starts) == 2
    end.set()
    monkeypatch.setattr(template_sandbox, "_TOKENIZER_SECONDS", 60)
    assert rendered("x") == [ord("x")]


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$"])
def test_a_regular_expression_that_backtracks_too_long_is_reported(tmp_path, pattern):
    rules = {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}}
    engine = Engine()
    assert [*engine.load(target_with(tmp_path, "{{ messages[0].content }}", rules), None)]
    (end,) = engine.generate(GenerationRequest(messages=(Message("user", "a" * 60 + "!"),)))
    assert end.code in ("tokenizer_crashes", "tokenizer_slow")
    engine.unload()


def replacing(*steps: tuple[str, str, str]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {a: b}, "content": c} for a, b, c in steps]}


def charsmap(text: str) -> str:
    """A SentencePiece map from "a" to a text: the length of a double-array trie, the trie, and the text."""
    trie = [96 << 10, 3 << 10 | 1 << 8 | 0x61, 1 << 31, *[0] * 253]  # 96 ^ "a" is 1, and 1 ^ 3 is 2
    data = struct.pack("<I256I", 1024, *trie) + text.encode() + b"\0"
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "normalizer",
    [
        replacing(("String", "a", "a" * 10_000)),
        replacing(*[("String", "a", "aaaaaaaaaa")] * 12),
        replacing(*[("Regex", ".", "aa")] * 40),
        replacing(("String", "a", "bb"), ("String", "b", "cccc"), ("Regex", "c", "dddddd")),
        replacing(("String", "", "x" * 99)),
        {"type": "Sequence", "normalizers": [replacing(("String", "a", "a" * 4)), replacing(*[("String", "a", "a" * 4)] * 9)]},
        replacing(*[("Regex", "", "x")] * 40),
        replacing(*[("Regex", "(?=.)", "x")] * 40),
        replacing(*[("Regex", r"\b", "x")] * 40),
        {"type": "Sequence", "normalizers": [*replacing(("String", " ", "\ufdfa"))["normalizers"], {"type": "NFKC"}] * 30},
        {"type": "Sequence", "normalizers": [*replacing(("String", "\u0307", "İ"))["normalizers"], {"type": "Lowercase"}] * 30},
        {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 40},
        {"type": "Prepend", "prepend": "x" * 1_000_000},
        {"type": "Precompiled", "precompiled_charsmap": charsmap("b" * 2000)},
        {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": charsmap("a" * 9)}] * 9},
    ],
)
def test_a_tokenizer_that_makes_texts_much_longer_is_refused(tmp_path, normalizer):
    """The library ends the process when memory is used up."""
    refused(tmp_path, {"normalizer": normalizer})


def refused(folder: Path, rules: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="Can't read the tokenizer") as reported:
        list(Engine().load(target_with(folder, "x", rules), None))
    assert reported.value.text.code == "tokenizer_unreadable"


def test_other_parts_that_make_texts_much_longer_are_refused(tmp_path):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    refused(tmp_path / "a", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [byte_level] * 40}})
    word_piece = {"type": "WordPiece", "prefix": "##", "cleanup": False}
    refused(tmp_path / "b", {"decoder": {"type": "Sequence", "decoders": [word_piece] * 40}})
    step = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}] * 100, "pair": []}
    step["special_tokens"] = {"x": {"id": "x", "ids": [0] * 100, "tokens": ["x"] * 100}}
    step["pair"] = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    step["single"].append({"Sequence": {"id": "A", "type_id": 0}})
    refused(tmp_path / "c", {"post_processor": step})
    refused(tmp_path / "d", {"post_processor": {"type": "Sequence", "processors": [step]}})


def test_a_very_long_token_is_refused(tmp_path):
    rules = json.loads((GOLDEN / "e2e_qwen3" / "target" / "tokenizer.json").read_text())
    model = rules["model"]
    refused(tmp_path, {"model": model | {"vocab": model["vocab"] | {"x" * 20_000: len(model["vocab"])}}})


@pytest.mark.parametrize("written", ["b", "b" * 2000])
def test_the_rules_of_a_sentencepiece_model_are_checked(tmp_path, written):
    """They are in tokenizer.model, which the library converts."""
    model = sentencepiece_model_pb2.ModelProto()
    for piece, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3), ("\u2581", 1), ("a", 1), ("b", 1)):
        model.pieces.add(piece=piece, score=-1.0, type=kind)
    model.trainer_spec.model_type = 1
    model.normalizer_spec.precompiled_charsmap = base64.b64decode(charsmap(written))
    (tmp_path / "tokenizer.model").write_bytes(model.SerializeToString())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer", "extra_ids": 0}')
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    if written == "b":
        assert tokenizer_files.read_tokenizer(tmp_path, {}).encode("a")
    else:
        with pytest.raises(ValueError, match="normalizer makes texts much longer"):
            tokenizer_files.read_tokenizer(tmp_path, {})


@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, *replacing(("String", " ", "▁"))["normalizers"]]},
        replacing(("String", "``", '"'), ("String", "''", '"'), ("Regex", " {2,}", " "), ("String", "\n", "<0x0A>")),
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}, *replacing(("Regex", r"\s+", ""))["normalizers"]]},
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "NFC"}]},
        {
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": charsmap("b" * 18)},
                *replacing(("Regex", " {2,}", "▁"))["normalizers"],
            ],
        },
    ],
)
def test_a_normal_normalizer_is_accepted(tmp_path, normalizer):
    engine = Engine()
    assert isinstance([*engine.load(target_with(tmp_path, "x", {"normalizer": normalizer}), None)][-1], PairInfo)
    engine.unload()
