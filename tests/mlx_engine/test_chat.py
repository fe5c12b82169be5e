"""Reply tokens become text: whole characters, two channels, stop strings never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine import chat
from mlx_engine.errors import UserError
from mlx_engine.events import GenerationRequest, Message

ALPHABET = st.sampled_from("abc \n*|é√😀")


def opened(*opening, begun=()):
    return chat.Prompt([1, *opening, *begun], [*opening, *begun], list(begun))


def written(tokenizer, ids, stop=(), pieces=None, prompt=None):
    """All commits for these ids, given to `ReplyText` in pieces of these sizes."""
    reply, commits, at = chat.ReplyText(tokenizer, prompt or opened(), stop), [], 0
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
def test_text_comes_through_whole_however_it_is_cut(demo, text, pieces):
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
    assert reply.stopped == (stop in shown)


def test_thinking_and_answer_are_told_apart(demo):
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
    assert chat.ReplyText(tokenizer, opened(*closed)).channel == "answer"


@pytest.mark.parametrize("thinking", [False, True])
def test_a_question_about_think_tags_does_not_begin_the_thinking(demo, thinking):
    asked = GenerationRequest(messages=(Message("user", "What does <think> mean?"),), thinking=thinking)
    prompt = chat.render(demo.pair.tokenizer, asked)
    assert chat.ReplyText(demo.pair.tokenizer, prompt).channel == "answer"


def test_markers_of_several_tokens_are_never_shown(demo, monkeypatch):
    tokenizer = demo.pair.tokenizer
    marks = {name: tuple(tokenizer.encode(text, add_special_tokens=False)) for name, text in (("start", "[[in"), ("end", "out]]"))}
    assert all(len(mark) > 1 for mark in marks.values())
    monkeypatch.setattr(tokenizer, "_think_start_tokens", marks["start"])
    monkeypatch.setattr(tokenizer, "_think_end_tokens", marks["end"])
    plain, thought = (tuple(tokenizer.encode(text, add_special_tokens=False)) for text in ("9.", "hm"))
    # the first token of a marker, then something else: that was text after all
    _, commits = written(tokenizer, [marks["start"][0], *plain, *marks["start"], *thought, *marks["end"], *plain], pieces=[1, 2, 1])
    assert "".join(c.text for c in commits if c.channel == "thinking") == "hm"
    assert answer(commits) == tokenizer.decode([marks["start"][0], *plain]) + "9."


def test_nothing_follows_a_stop_string_that_shows_at_a_change_of_channel(demo):
    tokenizer = demo.pair.tokenizer
    ids = tokenizer.encode("a <think>see</think>b", add_special_tokens=False)
    reply, commits = written(tokenizer, ids, stop=(" ",))
    assert reply.stopped and answer(commits) == "a" and all(commit.channel == "answer" for commit in commits)


def test_continuing_appends_the_unfinished_reply_to_the_prompt(demo):
    tokenizer, asked = demo.pair.tokenizer, (Message("user", "Count from 1 to 9."),)
    whole = chat.render(tokenizer, GenerationRequest(messages=asked, continue_from="1, 2, 3"))
    begun = chat.render(tokenizer, GenerationRequest(messages=asked))
    assert whole.tokens[: len(begun.tokens)] == begun.tokens and tokenizer.decode(whole.begun) == "1, 2, 3"


def test_a_continued_text_keeps_the_space_at_the_join(demo):
    tokenizer = demo.pair.tokenizer
    begun = tokenizer.encode("The answer is", add_special_tokens=False)
    more = tokenizer.encode(" 5 of them", add_special_tokens=False)
    _, commits = written(tokenizer, more, prompt=opened(begun=begun))
    assert answer(commits) == " 5 of them"


def test_both_kinds_of_prompt_at_once_are_refused(demo):
    both = GenerationRequest(messages=(Message("user", "Hi"),), prompt_tokens=(1,))
    with pytest.raises(UserError, match="not both"):
        chat.render(demo.pair.tokenizer, both)
