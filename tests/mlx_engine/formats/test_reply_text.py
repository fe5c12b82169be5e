"""The text shown is that of the whole reply without markers, headers and stop sequences, however the reply is split into blocks."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.tokenizer_utils import load as load_tokenizer

from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.channels import ChannelParser
from mlx_engine.formats.format_registry import markers_of
from mlx_engine.formats.reply_text import ReplyText
from mlx_engine.models.library.pair import demo_pair
from tests.mlx_engine.formats.made_tokenizers import ids, made

FRESH = chat_prompt.RenderedPrompt([], [], [])
BROKEN = "\ufffd"

# Anything may split the bytes of a character, even a marker. No text spells a marker.
bytes_of_text = st.text(st.sampled_from("ab \n.é€😀"), max_size=8).map(lambda text: list(text.encode()))
torn = st.sampled_from([[0xF0, 0x9F], [0xC3], [0x80], [0xFF], [0xE2, 0x82]])
stops = st.lists(st.text(st.sampled_from("ab \n.é"), min_size=1, max_size=3), max_size=2).map(tuple)
cuts = st.lists(st.integers(1, 6), max_size=12)


@pytest.fixture(scope="module")
def demo_tokenizer():
    return load_tokenizer(demo_pair()[0])


def joined(parts):
    return list(itertools.chain(*parts))


def marked(tokenizer, *markers):
    """Replies with these markers, complete and partial, between text and split characters."""
    whole = st.sampled_from([ids(tokenizer, marker) for marker in markers])
    part = st.sampled_from([ids(tokenizer, marker)[:1] for marker in markers if len(ids(tokenizer, marker)) > 1] or [[]])
    return st.lists(st.one_of(bytes_of_text, torn, whole, part), max_size=10).map(joined)


def shown(tokenizer, tokens, blocks, stop=(), prompt=FRESH):
    """Return the text of each channel after every block, the final one last, and the tokens of all commits."""
    reply, at, states, seen = ReplyText(tokenizer, prompt, stop), 0, [], []
    text = {"thinking": "", "answer": ""}

    def keep(commits):
        for commit in commits:
            assert len(commit.tokens) == len(commit.sources)
            assert sum(size for _, size in commit.runs) == len(commit.text) and all(size > 0 for _, size in commit.runs)
            text[commit.channel] += commit.text
            seen.extend(commit.tokens)
        states.append(dict(text))

    for size in [*blocks, len(tokens)]:
        block = tokens[at : at + size]
        at += len(block)
        if not reply.stopped:
            keep(reply.add(block, ["drafter"] * len(block)))
    keep(reply.finish())
    return states, seen, bool(reply.stopped)


def cut(sections, stop, between=""):
    """Reference: return the text of each channel of a reply, given as sections (channel, raw bytes), and whether it was stopped."""
    text = {"thinking": "", "answer": ""}
    for channel, raw in sections:
        section = raw.decode("utf-8", "replace").rstrip(BROKEN).lstrip()
        if section and text[channel]:
            section = between + section
        if channel == "answer":
            for end in range(1, len(section) + 1):
                found = [end - len(each) for each in stop if section[:end].endswith(each)]
                if found:
                    text[channel] += section[: min(found)]
                    return text, True
        text[channel] += section
    return text, False


def raw_bytes(tokenizer, tokens):
    return b"".join(bytes([token]) if token < 256 else tokenizer.convert_ids_to_tokens(token).encode() for token in tokens)


def paired_sections(raw, opening, closing):
    """Text between markers. A stray closing marker is dropped at the start of an answer, and is text elsewhere."""
    channel, sections, text = "answer", [], b""
    for part in re.split(b"(" + re.escape(opening) + b"|" + re.escape(closing) + b")", raw):
        if (part == opening and channel == "answer") or (part == closing and channel == "thinking"):
            sections.append((channel, text))
            channel, text = "thinking" if channel == "answer" else "answer", b""
        elif part == closing and not text.decode("utf-8", "replace").rstrip(BROKEN).strip():
            continue
        else:
            text += part
    return [*sections, (channel, text)]


@pytest.mark.parametrize(("markers", "opening", "closing"), [
    ("think", "<think>", "</think>"), ("gemma4", "<|channel>thought", "<channel|>"), ("magistral", "[THINK]", "[/THINK]"),
])  # fmt: skip
@given(data=st.data(), blocks=cuts, stop=stops)
def test_a_reply_with_paired_markers_is_split_like_the_reference(markers, opening, closing, data, blocks, stop):
    tokenizer = made(markers)
    tokens = data.draw(marked(tokenizer, opening, closing))
    states, seen, stopped = shown(tokenizer, tokens, blocks, stop)
    want, ended = cut(paired_sections(raw_bytes(tokenizer, tokens), opening.encode(), closing.encode()), stop)
    assert (states[-1], stopped) == (want, ended)
    assert seen == tokens[: len(seen)] and (stopped or seen == tokens)
    for before, after in itertools.pairwise(states):
        assert all(after[channel].startswith(before[channel]) for channel in before)


def headed_sections(raw):
    """Messages from `<|message|>` to the next `<|end|>`, `<|start|>` or `<|channel|>`, with the channel that the header names.

    Messages to a tool begin with its name.
    """
    sections, rest, header, channel, tool = [], raw, None, "answer", b""

    def with_tool(text):
        return tool + b" " + text.lstrip() if tool and text.decode("utf-8", "replace").rstrip(BROKEN).strip() else text

    while True:
        if header is None:  # inside a text
            found = re.search(rb"<\|(?:end|start|channel|eom|eot)\|>", rest)
            if found is None:
                return [*sections, (channel, with_tool(rest))]
            sections.append((channel, with_tool(rest[: found.start()])))
            rest, header = rest[found.end() :], b""
        else:
            header, mark, rest = rest.partition(b"<|message|>")
            if not mark:
                return sections
            tool = (re.findall(rb"to=functions\.(\w+)", header) or [b""])[0]
            channel = "thinking" if not tool and (b"analysis" in header or b"to=self" in header) else "answer"
            header = None
            sections.append((channel, b""))


HARMONY = (
    "<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>", "<|start|>assistant",
    "<|channel|>commentary to=functions.f<|message|>", "<|channel|>commentary<|message|>",
)  # fmt: skip
MUSE = ("<|start|>assistant to=self<|message|>", "<|eom|>", "<|start|>assistant to=user<|message|>")


@pytest.mark.parametrize(("markers", "pieces"), [("harmony", HARMONY), ("muse", MUSE)])
@given(data=st.data(), blocks=cuts, stop=stops)
def test_a_reply_with_headers_is_split_like_the_reference(markers, pieces, data, blocks, stop):
    tokenizer = made(markers)
    tokens = data.draw(st.lists(st.one_of(bytes_of_text, torn, st.sampled_from([ids(tokenizer, piece) for piece in pieces])),
                                max_size=10).map(joined))  # fmt: skip
    states, seen, stopped = shown(tokenizer, tokens, blocks, stop)
    want, ended = cut(headed_sections(raw_bytes(tokenizer, tokens)), stop, between="\n\n")
    assert (states[-1], stopped) == (want, ended)
    assert seen == tokens[: len(seen)] and (stopped or seen == tokens)


@given(text=st.text(st.sampled_from("abc \n.é€😀"), max_size=30), blocks=cuts)
def test_only_unfinished_characters_and_a_last_space_are_held_back(text, blocks):
    """After each block, everything else is shown."""
    tokenizer, tokens = made("think"), list(text.encode())
    states, at = shown(tokenizer, tokens, blocks)[0], 0
    for state, size in zip(states, [*blocks, len(tokens)], strict=False):
        at = min(at + size, len(tokens))
        whole = bytes(tokens[:at]).decode("utf-8", "ignore").lstrip()
        assert state["answer"] in (whole, whole.removesuffix(" "), whole.rstrip(" "))


@given(text=st.text(st.sampled_from("abc \n.é€😀"), max_size=30), blocks=cuts, stop=stops)
def test_every_character_belongs_to_the_token_that_begins_it(text, blocks, stop):
    """A token is a byte here, and each token has a source of its own."""
    reply, tokens, told, shown, at = ReplyText(made("think"), FRESH, stop), list(text.encode()), [], "", 0
    commits = []
    for size in [*blocks, len(tokens)]:
        if not reply.stopped:
            commits += reply.add(tokens[at : at + size], range(at, min(at + size, len(tokens))))
        at = min(at + size, len(tokens))
    for commit in [*commits, *reply.finish()]:
        told += [supplier for supplier, size in commit.runs for _ in range(size)]
        shown += commit.text
    starts = [len(text[:index].encode()) for index in range(len(text))]
    first = len(text) - len(text.lstrip())
    assert told == starts[first : first + len(shown)]


@given(st.text(st.sampled_from("The quick brown fox, 12 + 30 = 42.\n\t—é"), max_size=60))
def test_runs_match_the_offsets_of_the_tokenizers_library(demo_tokenizer, text):
    text = text.strip()
    found = demo_tokenizer._tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    reply = ReplyText(demo_tokenizer, FRESH)
    commits = [*reply.add(found["input_ids"], range(len(found["input_ids"]))), *reply.finish()]
    told = [supplier for commit in commits for supplier, size in commit.runs for _ in range(size)]
    offsets = dict(enumerate(found["offset_mapping"]))
    for at, token in enumerate(told):
        first, last = offsets[token]
        assert first <= at < last or text[at] in "—é"  # offsets list all tokens of a split character


@given(data=st.data(), before=bytes_of_text, blocks=cuts)
def test_a_reply_to_a_raw_prompt_keeps_its_leading_whitespace(demo_tokenizer, data, before, blocks):
    for tokenizer in (made("none"), demo_tokenizer):
        prompt = ids(tokenizer, bytes(before).decode() or "a")
        tokens = ids(tokenizer, data.draw(st.text(st.sampled_from(" \naé€."), max_size=12)))
        raw = chat_prompt.render(tokenizer, GenerationRequest(prompt_tokens=tuple(prompt)))
        assert shown(tokenizer, tokens, blocks, prompt=raw)[0][-1]["answer"] == tokenizer.decode(tokens)


@given(
    text=st.text(st.sampled_from("ab.\n"), min_size=1, max_size=12), stop=st.text(st.sampled_from("ab."), min_size=1, max_size=4)
)
def test_only_a_possible_stop_string_is_held_back(text, stop):
    tokenizer = made("none")
    states, _, stopped = shown(tokenizer, list(text.encode()), [1] * len(text), (stop,))
    for at in range(1, len(text) + 1):
        so_far = text[:at].lstrip()
        if stop in so_far:
            assert stopped and states[min(at, len(states)) - 1]["answer"] == so_far[: so_far.index(stop)]
            return
        longest = max((size for size in range(1, len(stop)) if so_far.endswith(stop[:size])), default=0)
        assert states[at - 1]["answer"] == so_far[: len(so_far) - longest]


def test_the_stop_string_that_is_complete_first_ends_the_answer(demo_tokenizer):
    """Also if one token completes several."""
    texts = enumerate(demo_tokenizer.batch_decode([[token] for token in range(1000)]))
    token, text = next((token, text) for token, text in texts if text.isalpha() and len(text) == len(set(text)) == 4)
    states, _, stopped = shown(demo_tokenizer, [token], [1], (text, text[1:3]))
    assert states[-1]["answer"] == text[0] and stopped


def test_the_copy_of_a_parser_has_a_header_of_its_own():
    tokenizer = made("harmony")
    parser = ChannelParser(tokenizer, markers_of(tokenizer))
    for token in ids(tokenizer, "<|channel|>"):
        parser.add(token)
    drafted = parser.copy()
    for token in ids(tokenizer, "analysis<|message|>"):
        drafted.add(token)
    for token in ids(tokenizer, "final<|message|>"):
        parser.add(token)
    assert (drafted.section, parser.section) == ("thinking", "answer")


def test_an_unfinished_last_character_is_not_shown():
    tokenizer = made("none")
    states, seen, _ = shown(tokenizer, [*b"Yes \xf0\x9f\x98"], [3])
    assert states[-1]["answer"].rstrip() == "Yes" and len(seen) == 7
    states, _, _ = shown(tokenizer, [*b"Yes \xf0\x9f\x98"[:6], *b"\x98\x80!"], [3, 1, 1])
    assert states[-1]["answer"] == "Yes 😀!"


def test_special_tokens_and_tokens_beyond_the_vocabulary_show_nothing():
    tokenizer = made("think")
    start = tokenizer.convert_tokens_to_ids("<|im_start|>")
    states, seen, _ = shown(tokenizer, [*b"a", start, len(tokenizer) + 5, *b"b"], [1])
    assert states[-1]["answer"] == "ab" and len(seen) == 4
