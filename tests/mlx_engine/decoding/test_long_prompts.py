"""Long prompts: text is tokenized once, and text that can't fit isn't tokenized."""

from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.tokenizer_utils import TokenizerWrapper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Failed
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.known_prompts import KnownPrompts
from tests.mlx_engine.formats.made_calls import TOOLS
from tests.mlx_engine.formats.made_tokenizers import QWEN3_TOOLS, made

MARKERS = ["<|im_start|>", "<|im_end|>", "<think>"]
TEXTS = st.lists(st.sampled_from([*MARKERS, *(marker[:-1] for marker in MARKERS), " ", "\n", "a", "b a", "é"]), max_size=12).map(
    "".join
)


@pytest.fixture
def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of characters of each text that a tokenizer gets."""
    sizes, encode = list[int](), PreTrainedTokenizerFast.encode

    def counting(self: Any, text: str, *args: Any, **options: Any) -> Any:
        sizes.append(len(text))
        return encode(self, text, *args, **options)

    monkeypatch.setattr(PreTrainedTokenizerFast, "encode", counting)
    return sizes


@cache
def metaspace(prepend: bool) -> Any:
    """A tokenizer that adds a space before text, as Llama 2's do."""
    vocabulary = {letter: at for at, letter in enumerate("▁ab\né")}
    tokenizer = Tokenizer(
        models.BPE(vocab={**vocabulary, "▁a": 5, "<unk>": 6}, merges=[("▁", "a")], unk_token="<unk>", fuse_unk=True)
    )
    if prepend:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(MARKERS)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@given(known=st.lists(TEXTS, max_size=3), text=TEXTS, data=st.data())
@pytest.mark.parametrize("make", [None, made, partial(metaspace, True), partial(metaspace, False)])
def test_tokens_taken_from_earlier_prompts_are_those_of_the_whole_text(demo, make, known, text, data):
    tokenizer = make() if make else demo.pair.tokenizer
    prompts = KnownPrompts(tokenizer)
    for one in known:
        prompts.add(one, tokenizer.encode(one, add_special_tokens=False))
        if data.draw(st.booleans()):
            text = one[: data.draw(st.integers(0, len(one)))] + text
    size, tokens = prompts.beginning(text)
    assert tokens + tokenizer.encode(text[size:], add_special_tokens=False) == tokenizer.encode(text, add_special_tokens=False)


def test_a_prompt_is_tokenized_once_for_the_meter_its_opening_its_boundaries_and_the_next_turn(tokenized):
    tokenizer = made("tool_call", QWEN3_TOOLS)
    request = GenerationRequest((Message("system", "Be brief. " * 500), Message("user", "word " * 2000)), tools=TOOLS)
    chat_prompt.template(tokenizer, request.messages, tools=TOOLS)  # for the context meter
    assert len(chat_prompt.render(tokenizer, request, with_boundaries=True).boundaries) > 1
    following = GenerationRequest((*request.messages, Message("assistant", "Yes."), Message("user", "Why?")), tools=TOOLS)
    chat_prompt.render(tokenizer, following)
    assert max(tokenized) > 15_000
    assert sum(tokenized) < max(tokenized) + 2_500


@pytest.mark.parametrize(
    "request_",
    [
        GenerationRequest((Message("user", "word " * 200_000),)),
        GenerationRequest((Message("user", "Hi"),), continue_from="word " * 200_000),
        GenerationRequest((Message("user", "Hi"),), continue_thinking="word " * 200_000),
        GenerationRequest(prompt_text="word " * 200_000),
        GenerationRequest((Message("user", "word " * 200_000), Message("user", "word " * 200_000)), rolling=0),
        CountTokens(GenerationRequest((Message("user", "word " * 200_000),))),
    ],
)
def test_text_far_beyond_the_context_is_refused_without_tokenizing_all_of_it(demo, tokenized, request_):
    limit = demo.pair.info.context_limit
    if isinstance(request_, CountTokens):
        with pytest.raises(UserError) as refused:
            demo.count_tokens(request_)
        text = refused.value.text
    else:
        [failed] = demo.generate(request_)
        assert isinstance(failed, Failed)
        text = failed
    assert text.code == "context_exceeded"
    assert limit < dict(text.values)["tokens"] <= 8 * limit
    assert max(tokenized) <= 8 * limit and sum(tokenized) < 40 * limit


@pytest.mark.parametrize("text", ["word " * 40_000, "0123456789" * 20_000, "Ein Wort. 一個詞。\n" * 9_000])
def test_the_tokens_of_text_far_beyond_the_context_are_estimated(demo, tokenized, text):
    limit = demo.pair.info.context_limit
    count = demo.count_tokens(CountTokens(GenerationRequest((Message("user", text),)), estimate=True))
    assert sum(tokenized) <= 8 * limit
    whole = len(chat_prompt.template(demo.pair.tokenizer, (Message("user", text),)))
    assert count.limit == limit and not count.exact and abs(count.tokens - whole) < 0.05 * whole
    assert demo.count_tokens(CountTokens(GenerationRequest((Message("user", "Hi"),)), estimate=True)).exact


def test_tokens_are_counted_beyond_the_context(demo):
    assert (
        demo.count_tokens(CountTokens(GenerationRequest((Message("user", "word " * 2000),)))).tokens > demo.pair.info.context_limit
    )


def test_long_text_of_few_tokens_is_read():
    tokenizer = TokenizerWrapper(metaspace(False))
    assert len(chat_prompt.render(tokenizer, GenerationRequest(prompt_text="x" * 3000), limit=10).tokens) == 2
