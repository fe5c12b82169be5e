"""Chats with a template that drops thinking: boundaries are where the next turn continues, and reuse changes no reply."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import GenerationRequest, Message, Sampling, ToolCall
from mlx_engine.formats import chat_prompt
from mlx_engine.prefix.boundaries import boundaries
from tests.examples import sampled
from tests.mlx_engine.asking import reply
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.formats.made_calls import TOOLS
from tests.mlx_engine.formats.made_tokenizers import QWEN3_TOOLS, made
from tests.mlx_engine.wordy import WORDS, tokenizer

TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@pytest.fixture(scope="module", params=["e2e_qwen3", "e2e_gpt_oss", "e2e_qwen3_5"])
def chatting(request):
    """A reference pair of each cache kind that chats in words."""
    engine = loaded(GOLDEN / request.param / "target", GOLDEN / request.param / "drafter")
    engine.pair.tokenizer = tokenizer()
    yield engine
    engine.unload()


def rendered(engine, request: GenerationRequest) -> list[int]:
    return chat_prompt.render(engine.pair.tokenizer, request).tokens


@sampled(2)
@given(data=st.data())
def test_reuse_does_not_change_a_chat(chatting, data):
    system = [Message("system", data.draw(TEXT, "system"))] if data.draw(st.booleans()) else []
    messages = [*system, Message("user", data.draw(TEXT, "first question"))]
    for _ in range(data.draw(st.integers(2, 4), "turns")):
        request = GenerationRequest(
            messages=tuple(messages),
            sampling=Sampling(temperature=data.draw(st.sampled_from([0.0, 0.9]), "temperature")),
            seed=7,
            mode=data.draw(st.sampled_from(["dflash", "dflash", "plain"]), "mode"),
            width=8,
            thinking=data.draw(st.booleans(), "thinking"),
            max_tokens=data.draw(st.integers(1, 30), "limit"),
        )
        expected, got = reply(chatting, dataclasses.replace(request, reuse=False)), reply(chatting, request)
        assert got.tokens == expected.tokens
        assert got.stats.accepted_per_round == expected.stats.accepted_per_round
        match data.draw(st.sampled_from(["next turn", "next turn", "edit", "regenerate", "another chat"]), "then"):
            case "next turn":
                messages += [Message("assistant", got.text, got.thinking), Message("user", data.draw(TEXT, "question"))]
            case "edit":
                users = [at for at, message in enumerate(messages) if message.role == "user"]
                at = data.draw(st.sampled_from(users), "edited")
                messages = [*messages[:at], Message("user", data.draw(TEXT, "edited"))]
            case "another chat":
                messages = [*system, Message("user", data.draw(TEXT, "another question"))]


@pytest.mark.parametrize("thinking", [False, True])
def test_the_next_turn_of_a_thinking_chat_starts_at_a_boundary(chatting, thinking):
    chatting.free_memory()
    asked = GenerationRequest((Message("user", "w1 w2 w3"),), thinking=thinking, max_tokens=20, ignore_eos=True)
    first = reply(chatting, asked)
    prompt = rendered(chatting, asked)
    at = boundaries(chatting.pair.tokenizer, asked, prompt)[-1]
    # the assistant's header is repeated, the opening of its thinking is not
    assert prompt[at:] == ([5] if thinking else [5, 6])
    following = dataclasses.replace(
        asked, messages=(*asked.messages, Message("assistant", first.text, first.thinking), Message("user", "w4"))
    )
    assert rendered(chatting, following)[:at] == prompt[:at]
    assert reply(chatting, following).stats.reused_tokens >= at
    assert reply(chatting, asked).stats.reused_tokens >= at  # regenerated


def test_another_chat_with_the_same_system_prompt_starts_after_it(chatting):
    chatting.free_memory()
    system = Message("system", " ".join(WORDS[:40]))
    asked = GenerationRequest((system, Message("user", "w1 w2 w3")), max_tokens=20, ignore_eos=True)
    reply(chatting, asked)
    other = dataclasses.replace(asked, messages=(system, Message("user", "w4 w5")))
    assert reply(chatting, other).stats.reused_tokens == 43  # its header, text and end, and the user's header


@given(chatted=st.lists(st.tuples(TEXT, TEXT), max_size=3), last=TEXT, answer=TEXT, question=TEXT, system=st.none() | TEXT)
@pytest.mark.parametrize("thinking", [False, True])
def test_boundaries_hold_for_the_demo_pairs_own_template(demo, thinking, chatted, last, answer, question, system):
    head = [Message("system", system)] if system else []
    turns = [message for user, said in chatted for message in (Message("user", user), Message("assistant", said))]
    request = GenerationRequest((*head, *turns, Message("user", last)), thinking=thinking)
    prompt = rendered(demo, request)
    found = boundaries(demo.pair.tokenizer, request, prompt)
    following = (*request.messages, Message("assistant", answer), Message("user", question))
    assert rendered(demo, dataclasses.replace(request, messages=following))[: found[-1]] == prompt[: found[-1]]
    another = (*head, Message("user", question))
    assert rendered(demo, dataclasses.replace(request, messages=another))[: found[0]] == prompt[: found[0]]
    without_opening = chat_prompt.template(demo.pair.tokenizer, request.messages, thinking, reply=False)
    assert found[-1] >= min(len(prompt) - 1, len(without_opening) if thinking else 0)


def test_a_template_that_rejects_other_renderings_has_no_boundaries(chatting):
    wrapped = tokenizer()
    wrapped._tokenizer.chat_template = "{% if messages|length > 1 %}{{ raise_exception('no') }}{% endif %}" + (
        wrapped._tokenizer.chat_template
    )
    request = GenerationRequest((Message("user", "w1"),))
    prompt = chat_prompt.render(wrapped, request).tokens
    assert boundaries(wrapped, request, prompt) == (1,)  # another chat shares the user's header


def test_raw_tokens_can_be_reused():
    wrapped = tokenizer()
    assert boundaries(wrapped, GenerationRequest(prompt_tokens=(1, 2, 3)), (1, 2, 3)) == (2,)
    assert boundaries(wrapped, GenerationRequest(prompt_tokens=(1,)), (1,)) == ()


@pytest.mark.parametrize("thinking", ["", "Hm."])
def test_the_result_of_a_tool_continues_at_a_boundary(thinking):
    """The template drops thinking when the user writes again, but not when a tool answers."""
    tokenizer = made("tool_call", QWEN3_TOOLS)
    messages = (Message("system", "Be brief."), Message("user", "Hi"))
    for turn in range(3):
        request = GenerationRequest(messages, thinking=bool(thinking), tools=TOOLS)
        prompt = chat_prompt.render(tokenizer, request).tokens
        call = ToolCall(f"00000000{turn}", "clock", "{}")
        messages = (*messages, Message("assistant", "", thinking, (call,)), Message("tool", "12:00", call_id=call.id))
        following = chat_prompt.render(tokenizer, dataclasses.replace(request, messages=messages)).tokens
        at = max(boundaries(tokenizer, request, prompt))
        opening = [] if thinking else tokenizer.encode("<think>\n\n</think>\n\n", add_special_tokens=False)
        assert prompt[:at] == following[:at] and at == min(len(prompt) - 1, len(prompt) - len(opening))


def test_other_chats_can_share_some_or_all_of_several_system_messages():
    wrapped = made("think", QWEN3_TOOLS)
    first, second = Message("system", "Be brief."), Message("system", "Use English.")
    request = GenerationRequest(messages=(first, second, Message("user", "Hi")))
    prompt = chat_prompt.render(wrapped, request).tokens
    found = [wrapped.decode(prompt[:at]) for at in boundaries(wrapped, request, prompt)]
    assert [text.rpartition("<|im_start|>")[0].count("<|im_end|>") for text in found[:2]] == [1, 2]
