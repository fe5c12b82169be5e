"""Reply tokens become text: whole characters, two channels, stop strings never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine import chat
from mlx_engine.errors import UserError
from mlx_engine.events import GenerationRequest, Message

ALPHABET = st.sampled_from("abc \n*|é√😀")


def written(tokenizer, ids, stop=(), pieces=None, prompt=()):
    """All commits for these ids, given to `ReplyText` in pieces of these sizes."""
    reply, commits, at = chat.ReplyText(tokenizer, prompt, stop), [], 0
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
    opened = tokenizer.encode("<think>\n", add_special_tokens=False)
    _, commits = written(tokenizer, tokenizer.encode("Hm.</think>Yes.", add_special_tokens=False), prompt=opened)
    assert [(c.channel, c.text) for c in commits if c.text] == [("thinking", "Hm."), ("answer", "Yes.")]


def test_a_closed_thinking_section_in_the_prompt_starts_in_the_answer(demo):
    tokenizer = demo.pair.tokenizer
    closed = tokenizer.encode("<think>\n\n</think>\n\n", add_special_tokens=False)
    assert chat.ReplyText(tokenizer, closed).channel == "answer"


def test_continuing_appends_the_unfinished_reply_to_the_prompt(demo):
    tokenizer, asked = demo.pair.tokenizer, (Message("user", "Count from 1 to 9."),)
    whole = chat.render(tokenizer, GenerationRequest(messages=asked, continue_from="1, 2, 3"))
    begun = chat.render(tokenizer, GenerationRequest(messages=asked))
    assert whole[: len(begun)] == begun and tokenizer.decode(whole[len(begun) :]) == "1, 2, 3"


def test_both_kinds_of_prompt_at_once_are_refused(demo):
    both = GenerationRequest(messages=(Message("user", "Hi"),), prompt_tokens=(1,))
    with pytest.raises(UserError, match="not both"):
        chat.render(demo.pair.tokenizer, both)
