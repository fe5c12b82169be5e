"""Reply tokens as text: whole characters, two channels, no stop sequences; and prompts as tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.formats import chat_prompt, chat_text
from mlx_engine.formats.channels import ChannelMarkers
from mlx_engine.formats.hermes import Hermes
from mlx_engine.formats.reply_text import ReplyText
from tests.mlx_engine.formats.made_tokenizers import DEEPSEEK, GEMMA, HARMONY, OPENS_THINKING, QWEN3, ids, made

ALPHABET = st.sampled_from("abc \n*|é√😀")


def opened(*opening, start=()):
    return chat_prompt.RenderedPrompt([1, *opening, *start], [*opening, *start], list(start))


def written(tokenizer, ids, stop=(), pieces=None, prompt=None):
    """Return all commits for these ids, added to `ReplyText` in pieces of these sizes."""
    reply, commits, at = ReplyText(tokenizer, prompt or opened(), stop), [], 0
    for size in [*(pieces or []), len(ids)]:
        part = ids[at : at + size]
        commits += list(reply.add(part, ["target"] * len(part)))
        at += len(part)
        if reply.stopped:
            break
    return reply, [*commits, *reply.finish()]


def answer(commits):
    return "".join(commit.text for commit in commits if commit.channel == "answer")


@given(text=st.text(ALPHABET, max_size=40), pieces=st.lists(st.integers(1, 5), max_size=10))
def test_text_is_complete_however_it_is_split(demo, text, pieces):
    tokenizer = demo.pair.tokenizer
    ids = tokenizer.encode(text, add_special_tokens=False)
    _, commits = written(tokenizer, ids, pieces=pieces)
    assert answer(commits) == text.lstrip()
    assert [token for commit in commits for token in commit.tokens] == ids
    assert all("\ufffd" not in commit.text for commit in commits)


@given(
    text=st.text(ALPHABET, min_size=1, max_size=40),
    stop=st.text(ALPHABET, min_size=1, max_size=4),
    pieces=st.lists(st.integers(1, 5), max_size=9),
)
def test_a_stop_string_ends_the_answer_and_is_not_shown(demo, text, stop, pieces):
    tokenizer = demo.pair.tokenizer
    ids = tokenizer.encode(text, add_special_tokens=False)
    reply, commits = written(tokenizer, ids, (stop,), pieces)
    shown = text.lstrip()
    assert answer(commits) == shown.split(stop)[0]
    assert reply.stopped == (stop if stop in shown else "")


def test_thinking_and_answer_are_separated(demo):
    tokenizer = demo.pair.tokenizer
    ids = tokenizer.encode("<think>\nLet me see.\n</think>\n\nIt is **9**.", add_special_tokens=False)
    _, commits = written(tokenizer, ids, pieces=[2, 1, 4])
    assert "".join(c.text for c in commits if c.channel == "thinking").strip() == "Let me see."
    assert answer(commits) == "It is **9**."
    assert [token for commit in commits for token in commit.tokens] == ids


def test_a_prompt_that_opens_the_thinking_starts_in_it(demo):
    tokenizer = demo.pair.tokenizer
    prompt = opened(*tokenizer.encode("<think>\n", add_special_tokens=False))
    _, commits = written(tokenizer, tokenizer.encode("Hm.</think>Yes.", add_special_tokens=False), prompt=prompt)
    assert [(c.channel, c.text) for c in commits if c.text] == [("thinking", "Hm."), ("answer", "Yes.")]


def test_a_closed_thinking_section_in_the_prompt_starts_in_the_answer(demo):
    tokenizer = demo.pair.tokenizer
    closed = tokenizer.encode("<think>\n\n</think>\n\n", add_special_tokens=False)
    assert ReplyText(tokenizer, opened(*closed)).channel == "answer"


@pytest.mark.parametrize("thinking", [False, True])
def test_a_question_about_think_tags_does_not_begin_the_thinking(demo, thinking):
    asked = GenerationRequest(messages=(Message("user", "What does <think> mean?"),), thinking=thinking)
    prompt = chat_prompt.render(demo.pair.tokenizer, asked)
    assert ReplyText(demo.pair.tokenizer, prompt).channel == "answer"


def test_markers_of_several_tokens_are_never_shown(demo, monkeypatch):
    tokenizer = demo.pair.tokenizer
    marks = {name: tuple(tokenizer.encode(text, add_special_tokens=False)) for name, text in (("start", "[[in"), ("end", "out]]"))}
    assert all(len(mark) > 1 for mark in marks.values())
    ends = {"answer": {marks["start"]: "thinking"}, "thinking": {marks["end"]: "answer"}, "header": {}}
    monkeypatch.setattr(Hermes, "markers", lambda *_: ChannelMarkers(ends, {}))
    plain, thought = (tuple(tokenizer.encode(text, add_special_tokens=False)) for text in ("9.", "hm"))
    # the first token of a marker followed by something else is text
    _, commits = written(tokenizer, [marks["start"][0], *plain, *marks["start"], *thought, *marks["end"], *plain], pieces=[1, 2, 1])
    assert "".join(c.text for c in commits if c.channel == "thinking") == "hm"
    assert answer(commits) == tokenizer.decode([marks["start"][0], *plain]) + "9."


def test_nothing_follows_a_stop_string_at_a_change_of_channel(demo):
    tokenizer = demo.pair.tokenizer
    ids = tokenizer.encode("a <think>see</think>b", add_special_tokens=False)
    reply, commits = written(tokenizer, ids, stop=(" ",))
    assert reply.stopped and answer(commits) == "a" and all(commit.channel == "answer" for commit in commits)


def test_continuing_appends_the_unfinished_reply_to_the_prompt(demo):
    tokenizer, asked = demo.pair.tokenizer, (Message("user", "Count from 1 to 9."),)
    whole = chat_prompt.render(tokenizer, GenerationRequest(messages=asked, continue_from="1, 2, 3"))
    start = chat_prompt.render(tokenizer, GenerationRequest(messages=asked))
    assert whole.tokens[: len(start.tokens)] == start.tokens and tokenizer.decode(whole.continued) == "1, 2, 3"


def test_a_continued_text_keeps_the_space_between_the_parts(demo):
    tokenizer = demo.pair.tokenizer
    start = tokenizer.encode("The answer is", add_special_tokens=False)
    more = tokenizer.encode(" 5 of them", add_special_tokens=False)
    _, commits = written(tokenizer, more, prompt=opened(start=start))
    assert answer(commits) == " 5 of them"


def test_messages_together_with_tokens_are_refused(demo):
    both = GenerationRequest(messages=(Message("user", "Hi"),), prompt_tokens=(1,))
    with pytest.raises(UserError, match="not both"):
        chat_prompt.render(demo.pair.tokenizer, both)


def prompt_text(tokenizer, *messages, **options):
    request = GenerationRequest(messages=messages, **options)
    prompt = chat_prompt.render(tokenizer, request)
    return tokenizer.decode(prompt.tokens), ReplyText(tokenizer, prompt).channel


ASKED = Message("user", "Hi")


def test_the_template_gets_the_thinking_switch_by_either_name():
    assert prompt_text(made("think", QWEN3), ASKED)[0].endswith("<think>\n\n</think>\n\n")
    assert prompt_text(made("think", QWEN3), ASKED, thinking=True)[0].endswith("<|im_start|>assistant\n")
    assert prompt_text(made("think", DEEPSEEK), ASKED)[0].endswith("</think>")
    assert prompt_text(made("think", DEEPSEEK), ASKED, thinking=True) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>",
        "thinking",
    )


def test_only_a_template_that_takes_an_effort_gets_one():
    harmony, qwen = made("harmony", HARMONY), made("think", QWEN3)
    assert chat_text.takes_effort(harmony) and not chat_text.takes_effort(qwen)
    assert "Reasoning: high" in prompt_text(harmony, ASKED, effort="high")[0]
    assert "Reasoning: medium" in prompt_text(harmony, ASKED)[0]
    refuses = made("think", "{{ raise_exception('unknown option') if reasoning is defined }}" + QWEN3)
    assert prompt_text(refuses, ASKED, effort="high") == prompt_text(qwen, ASKED)


@pytest.mark.parametrize(
    ("markers", "able"), [("think", True), ("harmony", True), ("gemma4", True), ("muse", True), ("none", False)]
)
def test_a_target_with_markers_can_think(markers, able):
    assert chat_prompt.can_think(made(markers)) is able


def test_system_messages_are_merged_if_a_template_takes_none():
    text, _ = prompt_text(made("none", GEMMA), Message("system", "Be brief."), ASKED)
    assert text == "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\n"
    text, _ = prompt_text(made("think", QWEN3), Message("system", "Be brief."), ASKED)
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>")


@pytest.mark.parametrize(
    "guard",
    [
        "{% if message.role == 'system' and not loop.first %}{{ raise_exception('only at the beginning') }}{% endif %}",
        "{% if message.role == 'system' and not loop.first %}{% continue %}{% endif %}",
    ],
)
def test_system_messages_that_a_template_rejects_or_drops_become_the_users(guard):
    template = (
        "{% for message in messages %}GUARD{{ '<|im_start|>' + message.role + ' ' + message.content + '<|im_end|>' }}{% endfor %}"
    )
    said = [Message("system", "A"), Message("system", "B"), ASKED, Message("assistant", "Hello."), Message("system", "C"), ASKED]
    text = "<|im_start|>system A\n\nB<|im_end|><|im_start|>user Hi<|im_end|><|im_start|>assistant Hello.<|im_end|>"
    text += "<|im_start|>user C<|im_end|><|im_start|>user Hi<|im_end|>"
    assert prompt_text(made("none", template.replace("GUARD", guard)), *said)[0] == text
    kept = prompt_text(made("none", template.replace("GUARD", "")), *said)[0]
    assert kept.count("<|im_start|>system ") == 3 and "A\n\nB" not in kept


@pytest.mark.parametrize("template", ["{{ '' }}", "{% if false %}never{% endif %}"])
def test_a_chat_that_renders_to_nothing_is_refused(template):
    with pytest.raises(UserError, match="an empty prompt"):
        prompt_text(made("think", template), ASKED)


def test_a_chat_of_which_the_tokenizer_drops_every_word_is_refused(monkeypatch):
    tokenizer = made("none", GEMMA + " ")
    monkeypatch.setattr(tokenizer._tokenizer, "encode", lambda *_, **__: [])
    with pytest.raises(UserError, match="an empty prompt"):
        prompt_text(tokenizer, ASKED)


def test_messages_in_a_row_are_merged_if_roles_must_alternate():
    text, _ = prompt_text(made("none", GEMMA), ASKED, Message("user", "Are you there?"))
    assert text == "<start_of_turn>user\nHi\n\nAre you there?<end_of_turn>\n<start_of_turn>model\n"


def test_the_system_message_stays_one_if_only_roles_must_alternate():
    template = """{% for message in messages %}
{%- if not loop.first and message.role == messages[loop.index0 - 1].role %}{{ raise_exception('roles must alternate') }}{% endif %}
{{- '<|im_start|>' + message.role + ' ' + message.content + '<|im_end|>' }}{% endfor %}"""
    text, _ = prompt_text(made("none", template), Message("system", "Be brief."), ASKED, Message("user", "Are you there?"))
    assert text == "<|im_start|>system Be brief.<|im_end|><|im_start|>user Hi\n\nAre you there?<|im_end|>"


def test_the_error_of_a_template_that_rejects_the_merged_chat_is_quoted():
    stubborn = made("none", "{{ raise_exception('only on Sundays') }}")
    with pytest.raises(UserError, match="rejects this chat: only on Sundays"):
        prompt_text(stubborn, ASKED)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ((), "no message to reply to"),
        ((Message("system", "Be brief."),), "no message to reply to"),
        ((ASKED, Message("robot", "9")), "role “robot”"),
    ],
)
def test_a_chat_without_a_question_or_with_an_unknown_role_is_refused(messages, words):
    with pytest.raises(UserError, match=words):
        prompt_text(made("think", QWEN3), *messages)


def test_the_template_gets_the_thinking_of_earlier_replies():
    shows = "{% for message in messages %}{{ message.get('reasoning_content', '') + '|' + message['content'] + '\\n' }}{% endfor %}"
    text, _ = prompt_text(made("think", shows), ASKED, Message("assistant", "Yes", "Hm"), Message("user", "Why?"))
    assert text == "|Hi\nHm|Yes\n|Why?\n"


@pytest.mark.parametrize(
    ("markers", "template", "thinking", "continued", "end", "channel"),
    [
        ("think", QWEN3, False, {"continue_from": "1, 2"}, "</think>\n\n1, 2", "answer"),
        ("think", QWEN3, True, {"continue_from": "1, 2"}, "assistant\n1, 2", "answer"),
        ("think", QWEN3, True, {"continue_thinking": "Hm"}, "assistant\n<think>\nHm", "thinking"),
        ("think", QWEN3, True, {"continue_thinking": "Hm", "continue_from": "1"}, "<think>\nHm\n</think>\n\n1", "answer"),
        ("think", OPENS_THINKING, True, {"continue_from": "1, 2"}, "<think>\n\n</think>\n\n1, 2", "answer"),
        ("think", OPENS_THINKING, True, {"continue_from": "Hm.</think>1"}, "<think>\nHm.</think>1", "answer"),
        ("think", OPENS_THINKING, True, {"continue_thinking": "Hm"}, "<think>\nHm", "thinking"),
        ("harmony", HARMONY, True, {"continue_from": "1"}, "<|start|>assistant<|channel|>final<|message|>1", "answer"),
        ("harmony", HARMONY, True, {"continue_thinking": "Hm"}, "assistant<|channel|>analysis<|message|>Hm", "thinking"),
        (
            "harmony",
            HARMONY,
            True,
            {"continue_thinking": "Hm", "continue_from": "1"},
            "analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>1",
            "answer",
        ),
        ("none", GEMMA, False, {"continue_from": "1"}, "<start_of_turn>model\n1", "answer"),
    ],
)
def test_an_unfinished_reply_continues_in_its_own_channel(markers, template, thinking, continued, end, channel):
    text, goes_on = prompt_text(made(markers, template), ASKED, thinking=thinking, **continued)
    assert text.endswith(end) and goes_on == channel


def test_a_space_at_the_end_of_a_continued_text_is_not_repeated():
    tokenizer = made("think", QWEN3)
    prompt = chat_prompt.render(tokenizer, GenerationRequest(messages=(ASKED,), continue_from="It is "))
    assert answer(written(tokenizer, list(b"so."), prompt=prompt)[1]) == "so."


def test_raw_tokens_that_end_in_thinking_continue_it():
    tokenizer = made("think")
    raw = ids(tokenizer, "<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n")
    assert ReplyText(tokenizer, chat_prompt.render(tokenizer, GenerationRequest(prompt_tokens=tuple(raw)))).channel == "answer"
    raw += ids(tokenizer, "<think>\n")
    assert ReplyText(tokenizer, chat_prompt.render(tokenizer, GenerationRequest(prompt_tokens=tuple(raw)))).channel == "thinking"
