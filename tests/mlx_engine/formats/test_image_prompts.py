"""Prompts with images: the reference prompts, the places of images, and what prefixes are matched by."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.formats import chat_text as chat_texts
from mlx_engine.formats.chat_prompt import fitting, render, template
from mlx_engine.formats.chat_text import chat_text
from mlx_engine.formats.sight import Sight
from mlx_engine.formats.tokenizer_files import read_tokenizer
from mlx_engine.vision.spans import outside_images
from tests.golden.vision_case import grid
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.formats.made_tokenizers import QWEN3_TOOLS, made

FOLDERS = sorted(folder.parent for folder in (GOLDEN / "vision").glob("*/cases.json"))
TOKENS = {"qwen": (262, 259, 260), "gemma": (263, 262, 264)}
TOOLS = (ToolSpec("look", None, {"type": "object"}),)
PICTURE = "<start_of_turn>"  # what the templates below write for an image
# As Qwen's published templates, which show images in all messages
SHOWS = """\
{%- macro show(content) %}{% if content is string %}{{ content }}{% else %}{% for part in content %}
{{- '<start_of_turn>' if part.type == 'image' else part.text }}{% endfor %}{% endif %}{% endmacro %}
""" + QWEN3_TOOLS.replace("message.content.", "show(message.content).").replace("+ message.content +", "+ show(message.content) +")
SILENT = SHOWS.replace("+ show(message.content) + '\\n</tool", "+ (message.content | string) + '\\n</tool")  # about results' images


@cache
def described(folder: str) -> dict[str, Any]:
    return json.loads((GOLDEN / "vision" / folder / "cases.json").read_text())


@cache
def tokenizer_in(folder: str) -> TokenizerWrapper:
    return read_tokenizer(GOLDEN / "vision" / folder, json.loads((GOLDEN / "vision" / folder / "config.json").read_text()))


def sight_of(folder: str) -> Sight:
    """How the reference model in a folder sees its pictures, whose files are their names here."""
    pictures = described(folder)["images"]
    is_qwen = folder.startswith("qwen")
    placeholder = "<|image_pad|>" if is_qwen else "<|image|>"
    tokens = TOKENS["qwen" if is_qwen else "gemma"]
    return Sight(placeholder, *tokens, not is_qwen, lambda image: (grid(pictures[image.data.decode()]), image.data.decode()))


def message(role: Any, content: Any) -> Message:
    """Return a message of a reference case."""
    if isinstance(content, str):
        return Message(role, content)
    text, images = "", []
    for part in content:
        text += part.get("text", "")
        if part["type"] == "image":
            images.append(AttachedImage(len(text), part["name"].encode(), part["name"]))
    return Message(role, text, images=tuple(images))


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in FOLDERS:
        for case in described(folder.name)["cases"]:
            yield folder.name, case


@pytest.mark.parametrize(("folder", "case"), [pytest.param(*each, id=f"{each[0]}-{each[1]['name']}") for each in cases()])
def test_a_reference_chat_becomes_its_prompt(folder: str, case: dict[str, Any]) -> None:
    tokenizer, sight = tokenizer_in(folder), sight_of(folder)
    messages = tuple(message(each["role"], each["content"]) for each in case["messages"])
    assert chat_text(tokenizer, messages, sight=sight) == case["rendered"]
    prompt = render(tokenizer, GenerationRequest(messages), with_boundaries=True, sight=sight)
    assert prompt.tokens == case["input_ids"]
    assert [[span.start, span.end] for span in prompt.spans] == case.get("image_spans", [])
    assert [image.name for image in prompt.images] == case["images"]
    assert all(outside_images(prompt.spans, count) == count for count in prompt.boundaries)
    said = Message("assistant", case["output_text"])
    following = GenerationRequest((*messages, said, message("user", case["turn2"]["added_content"])))
    second = render(tokenizer, following, sight=sight)
    assert second.tokens == case["turn2"]["input_ids"]
    assert second.keys()[: len(prompt.tokens)] == prompt.keys()


def made_sight(tokenizer: TokenizerWrapper) -> Sight:
    """Images of 1 to 9 soft tokens in two rows at most, by the first byte of their file."""
    start, end = tokenizer.convert_tokens_to_ids(PICTURE), tokenizer.convert_tokens_to_ids("<end_of_turn>")

    def seen(image: AttachedImage) -> tuple[tuple[int, int], str]:
        return (1 + image.data[0] % 2, 2 + image.data[0] % 4), image.digest

    return Sight(PICTURE, start, end, end, True, seen)


@st.composite
def seen_chats(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns with words and images, and results of tools with images."""

    def said(role: Any, **options: Any) -> Message:
        text = draw(st.sampled_from(["", "a", " b ", "\nc d", "\U00100000"]))
        places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=2))) if role in ("user", "tool") else []
        images = tuple(AttachedImage(at, bytes([draw(st.integers(0, 7))]) + b"PNG") for at in places)
        return Message(role, text, images=images, **options)

    messages = [Message("system", "Be brief.")] if draw(st.booleans()) else []
    for at in range(draw(st.integers(1, 3))):
        messages.append(said("user"))
        if draw(st.booleans()):
            calls = tuple(ToolCall(f"{at}{number}", "look", "{}") for number in range(draw(st.integers(1, 2))))
            messages.append(said("assistant", calls=calls))
            messages += [said("tool", call_id=call.id) for call in draw(st.permutations(calls))]
        messages.append(said("assistant"))
    return (*messages, said("user"))


@pytest.mark.parametrize("text", [SHOWS, SILENT])
@given(seen_chats(), st.booleans())
def test_every_image_is_in_the_prompt_once_and_no_boundary_is_inside(
    text: str, messages: tuple[Message, ...], with_tools: bool
) -> None:
    tokenizer = made("tool_call", text)
    sight, request = made_sight(tokenizer), GenerationRequest(messages, tools=TOOLS if with_tools else ())
    prompt = render(tokenizer, request, with_boundaries=True, sight=sight)
    images = [image for message in messages for image in message.images]
    assert sorted(image.digest for image in prompt.images) == sorted(image.digest for image in images)
    for span, image in zip(prompt.spans, prompt.images, strict=True):
        assert (span.grid, span.digest) == sight.seen(image)
        assert prompt.tokens[span.start - 1 : span.end + 1] == [sight.start, *[sight.token] * (span.end - span.start), sight.end]
    assert prompt.tokens.count(sight.token) == sum(span.end - span.start for span in prompt.spans)
    assert all(0 < outside_images(prompt.spans, count) == count < len(prompt.tokens) for count in prompt.boundaries)
    assert template(tokenizer, messages, tools=request.tools, sight=sight) == prompt.tokens
    wordless = [replace(message, images=()) for message in messages]
    if text == SHOWS and not any(message.role == "tool" for message in messages):
        between, done = list[int](), 0
        for span in prompt.spans:
            between += prompt.tokens[done : span.start - 1]
            done = span.end + 1
        assert [*between, *prompt.tokens[done:]] == template(tokenizer, wordless, tools=request.tools)


@given(seen_chats(), st.data())
def test_the_keys_of_a_prompt_are_those_of_what_its_images_show(messages: tuple[Message, ...], data: st.DataObject) -> None:
    tokenizer = made("tool_call", SHOWS)
    sight = made_sight(tokenizer)
    prompt = render(tokenizer, GenerationRequest(messages), sight=sight)
    keys = prompt.keys()
    inside = [at for span in prompt.spans for at in range(span.start, span.end)]
    assert len(keys) == len(prompt.tokens) and all(0 <= key < 1 << 32 for key in keys)
    assert [key for at, key in enumerate(keys) if at not in inside] == [
        token for at, token in enumerate(prompt.tokens) if at not in inside
    ]
    assert all(keys[at] >= 1 << 31 for at in inside)
    if not inside:
        assert keys is prompt.tokens
        return
    at = data.draw(st.sampled_from([at for at, message in enumerate(messages) if message.images]), "changed message")
    first, *rest = messages[at].images
    other = replace(first, data=first.data + b"other pixels", digest="")
    changed = (*messages[:at], replace(messages[at], images=(other, *rest)), *messages[at + 1 :])
    again = render(tokenizer, GenerationRequest(changed), sight=sight)
    assert again.tokens == prompt.tokens
    (span,) = [span for span, image in zip(again.spans, again.images, strict=True) if image is other]
    differing = [at for at, (a, b) in enumerate(zip(keys, again.keys(), strict=True)) if a != b]
    assert differing == [*range(span.start, span.end)]


CALL = ToolCall("1", "look", "{}")
SHOT = AttachedImage(2, b"\x01PNG", "shot.png")
CALLED = (Message("user", "Look."), Message("assistant", "", calls=(CALL,)), Message("tool", "a\nb", call_id="1", images=(SHOT,)))


@given(seen_chats())
def test_images_in_results_are_shown_alike_by_templates_that_know_none_there(messages: tuple[Message, ...]) -> None:
    """No message is added: a user's message would end the turn, and templates drop its thinking then."""
    tokenizers = [made("tool_call", text) for text in (SHOWS, SILENT)]
    thought = [replace(message, thinking="Let me see." if message.role == "assistant" else "") for message in (*CALLED, *messages)]
    shown, silent = (chat_text(tokenizer, thought, sight=made_sight(tokenizer)) for tokenizer in tokenizers)
    assert shown == silent and f"<tool_response>\na\n{PICTURE}b\n</tool_response><|im_end|>" in shown


def test_an_image_in_a_result_is_not_dropped_where_the_template_changes_its_text() -> None:
    tokenizer = made("tool_call", SILENT.replace("(message.content | string)", "(message.content | string | upper)"))
    with pytest.raises(UserError, match="doesn't show all images"):
        chat_text(tokenizer, CALLED, sight=made_sight(tokenizer))
    assert "A\nB" in chat_text(tokenizer, (*CALLED[:2], replace(CALLED[2], images=())))


@pytest.mark.parametrize(
    "chat",
    [
        (replace(CALLED[0], content=f"What is {PICTURE}?"), *CALLED[1:]),
        (CALLED[0], replace(CALLED[1], calls=(replace(CALL, arguments=json.dumps({"a": PICTURE})),)), CALLED[2]),
        (*CALLED, Message("assistant", thinking=PICTURE, content="b"), Message("user", "c")),
    ],
)
def test_text_that_looks_like_an_image_stays_text_next_to_images(chat: tuple[Message, ...]) -> None:
    """An agent may read a file about such models, and every later request repeats it."""
    tokenizer = made("tool_call", SHOWS)
    sight = made_sight(tokenizer)
    assert len(render(tokenizer, GenerationRequest(chat), sight=sight).spans) == sum(len(message.images) for message in chat)
    quoted = replace(CALLED[0], content=f"What is {PICTURE}?")
    assert f"What is {sight.broken_up(PICTURE)}?" in chat_text(tokenizer, [quoted, *CALLED[1:]], sight=sight)
    with pytest.raises(UserError, match="stands for an image"):
        render(tokenizer, GenerationRequest(CALLED, continue_from=PICTURE), sight=made_sight(tokenizer))
    render(tokenizer, GenerationRequest((Message("user", PICTURE),)), sight=made_sight(tokenizer))


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_an_image_elsewhere_is_refused(role: Any) -> None:
    tokenizer, chat = made("tool_call", SHOWS), (Message("user", "a"), Message(role, "b", images=(SHOT,)), Message("user", "c"))
    with pytest.raises(UserError, match=r"shot\.png.*messages of the user"):
        render(tokenizer, GenerationRequest(chat), sight=made_sight(tokenizer))


def test_a_template_without_images_is_refused_not_its_images_dropped() -> None:
    tokenizer = made("tool_call", QWEN3_TOOLS)
    with pytest.raises(UserError, match="rejects this chat"):
        render(tokenizer, GenerationRequest((replace(CALLED[0], images=(SHOT,)), *CALLED[1:])), sight=made_sight(tokenizer))


def test_a_window_and_shortened_results_count_soft_tokens() -> None:
    tokenizer = made("tool_call", SHOWS)
    sight = replace(made_sight(tokenizer), seen=lambda image: ((10, 20), image.digest))
    turns = [Message(role, "a", images=(replace(SHOT, at=0),) if role == "user" else ()) for role in ("user", "assistant") * 3]
    chat = (*turns, Message("user", "b"))
    request = GenerationRequest(chat, rolling=0, max_tokens=100)
    whole_chat = len(template(tokenizer, chat, sight=sight))
    sent, *_ = fitting(tokenizer, request, whole_chat + 100, sight=sight)
    assert sent == chat
    sent, *_ = fitting(tokenizer, request, whole_chat + 99, sight=sight)
    assert 0 < len(sent) < len(chat) and len(template(tokenizer, sent, sight=sight)) <= whole_chat - 200
    long = (*CALLED[:2], replace(CALLED[2], content="word " * 2000))
    cut, length, _ = fitting(tokenizer, GenerationRequest(long, max_tokens=100, shorten_results=True), 3000, sight=sight)
    assert length > 0 and cut[2].images and 2000 < len(template(tokenizer, cut, sight=sight)) <= 2900


@pytest.mark.parametrize("text", [SHOWS, SILENT])
def test_a_chat_with_images_is_rendered_twice(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one without them: see the same test of continuations."""
    tokenizer, rendered = made("tool_call", text), list[Any]()
    sight, learned = made_sight(tokenizer), (Message("system", "Be brief."), *CALLED)
    # What the template keeps after a call, and rejects
    render(tokenizer, GenerationRequest(learned, tools=TOOLS), with_boundaries=True, sight=sight)
    chat = (*learned, Message("assistant", "b"), Message("user", "c", images=(replace(SHOT, at=1),)))
    by_hand = chat_texts.render_chat
    monkeypatch.setattr(chat_texts, "render_chat", lambda *args, **options: rendered.append(args) or by_hand(*args, **options))
    request = GenerationRequest(chat, tools=TOOLS, rolling=0, shorten_results=True)
    for with_boundaries in (False, True):  # it is counted, then sent
        sent, *_ = fitting(tokenizer, request, 10_000, sight=sight)
        prompt = render(tokenizer, GenerationRequest(sent, tools=TOOLS), with_boundaries=with_boundaries, sight=sight)
    assert prompt.boundaries
    assert len(rendered) == 2
