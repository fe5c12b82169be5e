"""Boundaries are where later prompts continue, prompts are rendered twice at most, and reuse changes no reply."""

import dataclasses
import time
from collections.abc import Callable
from functools import cache, partial
from time import strftime
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message, Sampling, ToolCall
from mlx_engine.formats import chat_prompt, chat_text
from mlx_engine.formats.format_registry import call_format
from mlx_engine.formats.known_prompts import shared_length
from mlx_engine.models.library.pair import demo_pair
from tests.examples import sampled
from tests.mlx_engine.asking import reply
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.formats import made_tokenizers
from tests.mlx_engine.formats.made_calls import FAMILIES, TOOLS, tokenizer_of
from tests.mlx_engine.formats.made_tokenizers import QWEN3_TOOLS, made
from tests.mlx_engine.wordy import WORDS, tokenizer

# The system prompt and the tools are rendered with the last message of the user, as by Mistral's older templates.
LATE = """\
{%- set last = namespace(user=0) %}
{%- for message in messages %}{% if message.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}
{%- for message in messages %}{% if message.role != 'system' %}
{%- if tools and loop.index0 == last.user %}{{ tools | tojson }}{% endif %}
{{- '<|im_start|>' + message.role + '\\n' }}
{{- messages[0].content + '\\n\\n' if loop.last and message.role == 'user' and messages[0].role == 'system' }}
{{- message.content }}{{ message.tool_calls | tojson if message.tool_calls }}{{ '<|im_end|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}{% if false %}<|python_tag|>{% endif %}"""
# Reads commands in the user's messages, which a mark changes
COMMANDS = made_tokenizers.QWEN3.replace("message['content']", "message['content'].replace('/no_think', '').strip()")
# All templates that tests know, and how often each renders prompts in a row. The first prompt shows once that a template rejects
# system prompts, or what it keeps after a call.
TWICE, LEARNS = [2, 2, 2, 2], [3, 2, 2, 2]
TEMPLATES: dict[str, tuple[Callable[[], TokenizerWrapper], list[int]]] = {
    "ChatML": (partial(made, "none", made_tokenizers.CHATML + "{% endif %}"), TWICE),
    "Qwen3": (partial(made, "think", made_tokenizers.QWEN3), TWICE),
    "opens thinking": (partial(made, "think", made_tokenizers.OPENS_THINKING), TWICE),
    "DeepSeek": (partial(made, "think", made_tokenizers.DEEPSEEK), TWICE),
    "Harmony": (partial(made, "harmony", made_tokenizers.HARMONY), TWICE),
    "Gemma": (partial(made, "none", made_tokenizers.GEMMA), [4, 2, 2, 2]),  # rejected, and asked whether for its words
    "drops thinking": (tokenizer, TWICE),
    "reads commands": (partial(made, "think", COMMANDS), TWICE),
    "Qwen3 with tools": (partial(made, "tool_call", QWEN3_TOOLS), LEARNS),
    "Qwen3.5 with tools": (partial(made, "tool_call", QWEN3_TOOLS.replace(" and (loop.last or thinking)", "")), LEARNS),
    "demo pair": (lambda: load_tokenizer(demo_pair()[0]), LEARNS),
    **{f"calls of {family}": (partial(tokenizer_of, family), LEARNS) for family in FAMILIES},
    "late tools": (partial(made, "llama_calls", LATE), [5, 4, 4, 5]),
}
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@pytest.fixture(scope="module", params=["e2e_gpt_oss", "e2e_qwen3_5", pytest.param("e2e_qwen3", marks=pytest.mark.long)])
def chatting(request):
    """A reference pair of each cache kind that chats in words."""
    engine = loaded(GOLDEN / request.param / "target", GOLDEN / request.param / "drafter")
    engine.pair.tokenizer = tokenizer()
    yield engine
    engine.unload()


def rendered(engine, request: GenerationRequest) -> list[int]:
    return chat_prompt.render(engine.pair.tokenizer, request).tokens


def boundaries(tokenizer: TokenizerWrapper, request: GenerationRequest) -> tuple[int, ...]:
    return chat_prompt.render(tokenizer, request, with_boundaries=True).boundaries


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
    at = boundaries(chatting.pair.tokenizer, asked)[-1]
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
    found = boundaries(demo.pair.tokenizer, request)
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
    assert boundaries(wrapped, request) == (1,)  # another chat shares the user's header


def test_raw_tokens_can_be_reused():
    wrapped = tokenizer()
    assert boundaries(wrapped, GenerationRequest(prompt_tokens=(1, 2, 3))) == (2,)
    assert boundaries(wrapped, GenerationRequest(prompt_tokens=(1,))) == ()


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
        at = max(boundaries(tokenizer, request))
        opening = [] if thinking else tokenizer.encode("<think>\n\n</think>\n\n", add_special_tokens=False)
        assert prompt[:at] == following[:at] and at == min(len(prompt) - 1, len(prompt) - len(opening))


def test_other_chats_can_share_some_or_all_of_several_system_messages():
    wrapped = made("think", QWEN3_TOOLS)
    first, second = Message("system", "Be brief."), Message("system", "Use English.")
    request = GenerationRequest(messages=(first, second, Message("user", "Hi")))
    prompt = chat_prompt.render(wrapped, request).tokens
    found = [wrapped.decode(prompt[:at]) for at in boundaries(wrapped, request)]
    assert [text.rpartition("<|im_start|>")[0].count("<|im_end|>") for text in found[:2]] == [1, 2]


@cache
def of_template(name: str) -> TokenizerWrapper:
    return TEMPLATES[name][0]()


@pytest.fixture
def renderings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of messages in each rendered chat."""
    sizes, render = list[int](), chat_text.render_chat

    def counting(tokenizer: TokenizerWrapper, chat: list[dict[str, Any]], **options: Any) -> str:
        sizes.append(len(chat))
        return render(tokenizer, chat, **options)

    monkeypatch.setattr(chat_text, "render_chat", counting)
    chat_text._memories.clear()
    return sizes


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_meter_the_fitting_the_opening_and_the_boundaries_share_two_renderings(name, renderings):
    """In the first turn, in the second one, in the next step of its tools, and in another chat."""
    tokenizer, call, counts = of_template(name), ToolCall("000000000", "clock", "{}"), []
    tools = TOOLS if call_format(tokenizer) else ()
    head, question, answer = (
        Message("system", "Be brief."),
        Message("user", "What time is it?"),
        Message("assistant", "Noon.", "Hm."),
    )
    called = (Message("assistant", "", "Hm.", (call,)), Message("tool", "12:00", call_id=call.id)) if tools else (answer, question)
    chat = (head, question, answer, Message("user", "Really?"), *called)
    for messages in (chat[:2], chat[:4], chat, (head, Message("user", "Who are you?"))):
        renderings.clear()
        request = GenerationRequest(messages, tools=tools, rolling=0, shorten_results=True)
        for with_boundaries in (False, True):  # it is counted, then sent
            sent, *_ = chat_prompt.fitting(tokenizer, request, 10_000)
            asked = GenerationRequest(sent, tools=tools)
            prompt = chat_prompt.render(tokenizer, asked, limit=10_000, with_boundaries=with_boundaries)
        assert prompt.boundaries
        counts.append(len(renderings))
    print(f"{name:22} {counts}")
    assert counts == TEMPLATES[name][1]


def test_the_engine_renders_a_chat_twice(demo, renderings):
    messages = Message("system", "Be brief."), Message("user", "What is 2 + 2?")
    counted = demo.count_tokens(CountTokens(GenerationRequest(messages, rolling=0)))
    started = next(demo.generate(GenerationRequest(messages, rolling=0, max_tokens=1)))
    assert started.total == counted.tokens and len(renderings) == 2


WORDS_OF_CHATS = st.sampled_from(
    ["Hi", "w1 w2", "w3", " w4", "\nw5", "w6 ", "w7\n", "/no_think w8", "What is <think>?", "", "0", "é"]
)


@st.composite
def chats(draw: st.DrawFn, calls: bool) -> tuple[Message, ...]:
    """System messages, and turns in any order, with calls and their results."""
    messages = [Message("system", text) for text in draw(st.lists(WORDS_OF_CHATS, max_size=3))]
    for kind in draw(st.lists(st.sampled_from(["user", "user", "assistant", "system", "calls" if calls else "user"]), max_size=6)):
        thinking = draw(st.sampled_from(["", "Hm."]))
        if kind == "calls":
            made_calls = tuple(ToolCall(f"{len(messages):08}{at}", "clock", "{}") for at in range(draw(st.integers(1, 2))))
            messages.append(Message("assistant", draw(WORDS_OF_CHATS), thinking, made_calls))
            messages += [Message("tool", draw(WORDS_OF_CHATS), call_id=call.id) for call in made_calls]
        else:
            messages.append(Message(kind, draw(WORDS_OF_CHATS), thinking if kind == "assistant" else ""))
    return (*messages, *([] if messages and messages[-1].role == "tool" else [Message("user", draw(WORDS_OF_CHATS))]))


@sampled(15, 300)
@given(name=st.sampled_from([name for name in TEMPLATES if name != "late tools"]), data=st.data())
def test_boundaries_are_what_a_prompt_shares_with_two_continuations_of_each_kind(name, data):
    tokenizer = of_template(name)
    tools = TOOLS if call_format(tokenizer) and data.draw(st.booleans(), "tools") else ()
    messages = data.draw(chats(bool(call_format(tokenizer))), "messages")
    request = GenerationRequest(messages, thinking=data.draw(st.booleans(), "thinking"), tools=tools)

    def rendered_chat(*messages: Message) -> list[int]:
        return chat_prompt.render(tokenizer, dataclasses.replace(request, messages=messages)).tokens

    try:
        prompt = chat_prompt.render(tokenizer, request, with_boundaries=True)
        head = messages[: next(at for at, message in enumerate(messages) if message.role != "system")]
        call = ToolCall("000000000", "tool", "{}")
        continued = [
            [rendered_chat(*before, *after(text)) for text in ("w8", "a0")]
            for before, after in (
                (messages, lambda text: (Message("assistant", text), Message("user", text))),
                (head, lambda text: (Message("user", text),)),
                (head[:1], lambda text: (Message("user", text),)),
                *(
                    [(messages, lambda text: (Message("assistant", text, calls=(call,)), Message("tool", text, call_id=call.id)))]
                    * bool(tools)
                ),
            )
        ]
    except UserError:  # roles that don't alternate in any way
        return
    shared = {min(shared_length(prompt.tokens, a), shared_length(prompt.tokens, b)) for a, b in continued}
    assert {min(at, len(prompt.tokens) - 1) for at in shared} - {0} <= set(prompt.boundaries)


def test_a_command_before_the_words_of_the_user_does_not_end_what_the_next_turn_shares():
    messages = Message("user", "/no_think w1"), Message("assistant", "w2"), Message("user", "w3")
    prompt = chat_prompt.render(of_template("reads commands"), GenerationRequest(messages), with_boundaries=True)
    assert prompt.boundaries[-1] >= len(prompt.tokens) - len(prompt.opening)


@sampled(15, 300)
@given(name=st.sampled_from([*TEMPLATES]), data=st.data())
def test_what_a_template_rendered_or_rejected_before_changes_no_text(name, data):
    tokenizer = of_template(name)
    for _ in range(3):
        messages = data.draw(chats(bool(call_format(tokenizer))), "messages")
        texts = []
        for memories in (chat_text._memories, WeakKeyDictionary()):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(chat_text, "_memories", memories)
                try:
                    texts.append(chat_text.chat_text(tokenizer, messages))
                except UserError as error:
                    texts.append(str(error))
        assert texts[0] == texts[1]


def test_a_chat_rejected_for_its_words_or_options_rewrites_no_other_chat():
    rejects = "{% if m.role == 'system' and (enable_thinking or 'no' in m.content) %}{{ raise_exception('no') }}{% endif %}"
    tokenizer = made("none", "{% for m in messages %}" + rejects + "<{{ m.role }}>{{ m.content }}{% endfor %}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat_text, "_memories", WeakKeyDictionary())
        texts = [
            chat_text.chat_text(tokenizer, (Message("system", system), Message("user", "b")), thinking)
            for system, thinking in (("yes", False), ("no", False), ("yes", False), ("yes", True), ("yes", False))
        ]
    assert texts[0] == texts[2] == texts[4] == "<system>yes<user>b"
    assert (texts[1], texts[3]) == ("<user>no\n\nb", "<user>yes\n\nb")


def test_texts_are_those_of_the_same_chat_at_the_same_time(renderings, monkeypatch):
    template = "{{ strftime_now('%H:%M') }}{% for message in messages %}{{ message.tool_calls | tojson }}{% endfor %}"
    tokenizer, now = made("none", template + "{{ tools }}<|python_tag|>"), time.gmtime(0)
    monkeypatch.setattr(time, "strftime", lambda format: strftime(format, now))
    for arguments in ('{"x": 1}', '{"x": 1}', '{"x": true}', '{"x": 1.0}'):
        chat_text.chat_text(tokenizer, (Message("assistant", "", calls=(ToolCall("a", "b", arguments),)),))
    assert len(renderings) == 3
    now = time.gmtime(59)
    chat_text.chat_text(tokenizer, (Message("assistant", "", calls=(ToolCall("a", "b", '{"x": 1}'),)),))
    assert len(renderings) == 3
    now = time.gmtime(60)
    chat_text.chat_text(tokenizer, (Message("assistant", "", calls=(ToolCall("a", "b", '{"x": 1}'),)),))
    assert len(renderings) == 4
