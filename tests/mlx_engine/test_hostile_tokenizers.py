"""The rules in tokenizer.json come from the hub: a tokenizer that hangs, crashes, or grows texts ends with one message."""

import threading
from typing import Any

import pytest
from transformers import PreTrainedTokenizerBase

from mlx_engine import chat, template_sandbox
from mlx_engine.engine import Engine
from mlx_engine.errors import UserError
from mlx_engine.events import PairInfo
from mlx_engine.requests import GenerationRequest, Message
from tests.mlx_engine.made_tokenizers import made
from tests.mlx_engine.test_template_sandbox import rendered, target_with


class Panic(BaseException):
    """Like the tokenizers library's, which is no `Exception`."""


def test_a_tokenizer_that_crashes_is_reported(monkeypatch):
    def crash(*args: Any, **options: Any) -> None:
        raise Panic("retry-limit-in-match over")

    monkeypatch.setattr(PreTrainedTokenizerBase, "apply_chat_template", crash)
    with pytest.raises(UserError, match=r"tokenizer crashes \(retry-limit-in-match over\)") as reported:
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
        chat.render(tokenizer, GenerationRequest(messages=(Message("user", "Hi"),), **continued))
    assert reported.value.text.code == "tokenizer_crashes"


def test_a_tokenizer_that_takes_too_long_is_reported(monkeypatch):
    monkeypatch.setattr(template_sandbox, "_TOKENIZER_SECONDS", 0.2)
    forever = threading.Event()
    monkeypatch.setattr(PreTrainedTokenizerBase, "apply_chat_template", lambda *_, **__: forever.wait(600))
    with pytest.raises(UserError, match=r"tokenizer takes longer than 0\.2 seconds") as reported:
        rendered("x")
    forever.set()
    assert reported.value.text.code == "tokenizer_slow"


def test_stop_ends_waiting_for_a_tokenizer(monkeypatch):
    forever, cancel = threading.Event(), threading.Event()
    monkeypatch.setattr(PreTrainedTokenizerBase, "apply_chat_template", lambda *_, **__: forever.wait(600))
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(template_sandbox.RenderingCancelled):
        rendered("x", cancel)
    forever.set()


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


@pytest.mark.parametrize(
    "normalizer",
    [
        replacing(("String", "a", "a" * 10_000)),
        replacing(*[("String", "a", "aaaaaaaaaa")] * 12),
        replacing(*[("Regex", ".", "aa")] * 40),
        replacing(("String", "a", "bb"), ("String", "b", "cccc"), ("Regex", "c", "ddd")),
        replacing(("String", "", "x" * 99)),
        {"type": "Sequence", "normalizers": [replacing(("String", "a", "a" * 4)), replacing(*[("String", "a", "a" * 4)] * 9)]},
    ],
)
def test_a_tokenizer_that_makes_texts_much_longer_is_refused(tmp_path, normalizer):
    """The library ends the process when memory is used up."""
    with pytest.raises(UserError, match="Can't read the tokenizer") as refused:
        list(Engine().load(target_with(tmp_path, "x", {"normalizer": normalizer}), None))
    assert refused.value.text.code == "tokenizer_unreadable"


@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, *replacing(("String", " ", "▁"))["normalizers"]]},
        replacing(("String", "``", '"'), ("String", "''", '"'), ("Regex", " {2,}", " "), ("String", "\n", "<0x0A>")),
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}, *replacing(("Regex", r"\s+", ""))["normalizers"]]},
    ],
)
def test_a_normal_normalizer_is_accepted(tmp_path, normalizer):
    engine = Engine()
    assert isinstance([*engine.load(target_with(tmp_path, "x", {"normalizer": normalizer}), None)][-1], PairInfo)
    engine.unload()
