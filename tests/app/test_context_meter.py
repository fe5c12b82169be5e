"""The context meter: what it counts, when, and its texts."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from app.session.context_use import ContextUse, NextPrompt, measure, use_text
from app.session.engine_adapter import Delivery, Receive
from app.storage import wording
from app.storage.attachments import Attachment
from app.storage.reply import Reply
from app.views.chat.foot import ContextView
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import PrefillProgress
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message, Request, ToolSpec
from mlx_engine.contract.token_counts import PromptParts, TokenCount
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done, refuse
from tests.app.test_several_replies import refused_by


def counting(*replies: object) -> ScriptedEngine:
    engine = ScriptedEngine(replies, pair=replace(PAIR, context_limit=100))  # type: ignore[arg-type]
    engine.counts_words = True
    return engine


def shown(app: Session) -> str:
    use = app.meter.use
    return "Counting tokens…" if app.meter.counting else use_text(use) if use is not None else ""


def test_chat_system_prompt_and_draft_are_counted_after_the_last_change(begin: Begin) -> None:
    app = begin(counting(answer("Four words in it.")))
    app.until(lambda: shown(app) == "0 of 100 tokens used · 100 left")
    app.ask("One two")
    app.until(lambda: shown(app) == "6 of 100 tokens used · 94 left")
    app.session.set_settings(replace(app.session.chat.settings, system="Be brief."))
    app.until(lambda: shown(app) == "8 of 100 tokens used · 92 left")
    before = len(app.engine.counted)
    for length in range(1, 40):
        app.type("x " * length)
    app.until(lambda: shown(app) == "47 of 100 tokens used · 53 left")
    assert len(app.engine.counted) <= before + 2, "it waits until the typing rests"


def test_a_message_that_does_not_fit_is_reported_before_sending(begin: Begin) -> None:
    app = begin(counting())
    app.type("x " * 95)
    app.until(lambda: shown(app) == "5 tokens left")
    app.type("x " * 130)
    app.until(lambda: shown(app) == "The text doesn't fit: 130 tokens, 99 left")
    view = ContextView(app.theme, app.meter)
    assert view.label.text() == shown(app) and view.label.property("look") == "danger"
    app.type("")
    app.until(lambda: shown(app).startswith("0 of 100"))


def test_the_meter_appears_when_the_context_is_half_full(start: Start) -> None:
    app = start(counting())
    for count, visible in ((49, False), (50, True), (120, True), (3, False)):
        app.type("word " * count)
        app.until(lambda: not app.meter.counting)
        assert app.window.foot.context.isVisible() == visible, count


def test_the_meter_keeps_its_figure_while_the_prompt_is_counted_again(start: Start) -> None:
    app = start(counting())
    view = app.window.foot.context
    app.type("word " * 60)
    app.until(lambda: view.label.text() == "60 of 100 tokens used · 40 left")
    app.type("word " * 70)
    assert app.meter.counting and view.isVisible() and view.label.text() == "60 of 100 tokens used · 40 left"
    app.until(lambda: view.label.text() == "70 of 100 tokens used · 30 left")
    app.session.send("One")
    app.session.new_chat()
    assert app.meter.counting and view.isHidden(), "the figure of another chat"


def test_hovering_over_the_meter_shows_the_parts(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(counting())
    view, parts = ContextView(app.theme, app.meter), PromptParts(system=5, files=60, message=7, template=3)
    assert view.toolTip() == "Replies stop when the chat fills the context"
    monkeypatch.setattr(app.engine, "count_tokens", lambda request: TokenCount(parts.total, 100, parts=parts))
    app.type("One")
    app.until(lambda: "75 of 100" in shown(app))
    lines = view.toolTip().split("\n")
    assert lines[:5] == ["System prompt: 5", "Files: 60", "This message: 7", "Chat template: 3", "Total: 75 of 100 tokens"]


def test_a_message_that_does_not_fit_is_not_sent(start: Start, qtbot: QtBot) -> None:
    app = start(counting())
    composer = app.window.composer
    app.type("x " * 130)
    app.until(lambda: not composer.button.isEnabled())
    assert composer.button.toolTip() == "The text doesn't fit: 130 tokens, 99 left"
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert app.notices[-1] == "The text doesn't fit: 130 tokens, 99 left. Shorten the message." and not app.engine.requests
    assert app.window.foot.context.isHidden(), "the notice says it"
    app.type("y " * 150)
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)  # immediately, before it is counted
    assert app.window.foot.waiting.isVisible() and "Counting" in app.window.foot.waiting.label.text()
    app.until(lambda: not app.window.foot.waiting.isVisible())
    assert not app.engine.requests and composer.text == "y " * 150
    app.until(lambda: shown(app) == "The text doesn't fit: 150 tokens, 99 left")
    app.type("short")
    app.until(lambda: composer.button.isEnabled())
    assert app.notices == []
    app.ask("short")
    assert len(app.engine.requests) == 1 and composer.text == ""


def test_a_full_chat_says_so_whatever_the_message(begin: Begin) -> None:
    app = begin(counting(answer("word " * 97 + "end")))
    app.ask("One two")
    app.until(lambda: "This chat is full" in shown(app))
    app.type("Hi")
    app.until(lambda: bool(app.message.obstacle))
    assert shown(app) == app.message.obstacle == "This chat is full (100 tokens)"
    app.message.send()
    assert app.message.chat_full and app.notices == []  # it is said once, with ways to go on
    app.session.edit(app.session.chat.turns[0])
    app.type("Hi")
    app.until(lambda: "Counting" not in shown(app))
    assert not app.message.obstacle


def test_a_message_that_does_not_fit_is_reported_if_the_events_arrive_one_by_one(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count was dropped if the end of its job arrived in a later batch, and a message waited for it forever."""
    app = begin(counting(answer("Four words in it.")))
    app.ask("One two")
    submit = app.services.engine.submit

    def submit_unbatched(request: Request, receive: Receive) -> Run:
        def one_by_one(deliveries: list[Delivery]) -> None:
            for delivery in deliveries:
                receive([delivery])

        return submit(request, one_by_one)

    monkeypatch.setattr(app.services.engine, "submit", submit_unbatched)
    app.type("x " * 130)
    app.until(lambda: "doesn't fit" in shown(app))
    assert app.message.obstacle


def test_a_reply_that_filled_the_context_is_not_continued(begin: Begin) -> None:
    app = begin(counting([commit("Half", 20), done(reason="length", tokens=20)]))
    app.ask("One two")
    assert "context full" in wording.facts(app.reply) and not app.can("resume")


def test_a_refused_continuation_leaves_the_reply_as_it_was(begin: Begin) -> None:
    app = begin(counting([commit("Half", 20), done(reason="length", tokens=20)], [refuse("The context is full.")]))
    app.session.set_settings(replace(app.session.chat.settings, max_tokens=20))
    app.ask("One two")
    app.run("resume")
    app.idle()
    assert app.notices == ["The context is full."]
    assert "reached the limit of 20 tokens" in wording.facts(app.reply) and not app.reply.error
    assert app.answer == "Half" and app.can("resume")


def test_the_meter_counts_a_message_that_the_engine_refused(begin: Begin) -> None:
    app = begin(counting([refuse("Too long.")]))
    app.ask("One two three")
    app.until(lambda: shown(app).startswith("3 of 100"))


def test_a_growing_reply_is_added_without_asking_the_engine(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(counting([PrefillProgress(30, 30, 0), commit("Half", 20), gate, commit(" more.", 2), done()]))
    app.send("One two")
    app.until(lambda: shown(app) == "~50 of 100 tokens used · 50 left")
    asked = len(app.engine.counted)
    app.type("a draft")
    gate.set()
    app.until(lambda: not app.activity.busy)
    app.until(lambda: shown(app) == "6 of 100 tokens used · 94 left")
    assert len(app.engine.counted) == asked + 1


def test_tokens_before_continue_are_counted_once(begin: Begin) -> None:
    gate = threading.Event()
    first = [PrefillProgress(10, 10, 0), commit("Half", 20), done(reason="length", tokens=20)]
    app = begin(counting(first, [PrefillProgress(30, 30, 0), commit(" more.", 5), gate, commit(" End", 1), done(tokens=6)]))
    app.session.set_settings(replace(app.session.chat.settings, max_tokens=20))
    app.ask("One two")
    app.session.resume(app.session.chat.turns[0])
    app.until(lambda: shown(app) == "~35 of 100 tokens used · 65 left")
    assert "25 tokens" in wording.facts(app.reply)
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert "26 tokens" in wording.facts(app.reply)


def test_an_interrupted_part_counts_in_the_tokens_of_the_reply() -> None:
    reply = Reply("dflash", 100)
    reply.accept(commit("One", 20), 0.0)
    reply.reason = "interrupted"
    reply.resume("dflash")
    reply.accept(commit(" two", 6), 1.0)
    assert reply.tokens == 26
    reply.accept(done(tokens=6), 2.0)
    assert "26 tokens" in wording.facts(reply)
    reply.resume("dflash")
    reply.accept(commit(" three", 4), 3.0)
    reply.reason = "interrupted"
    assert "30 tokens" in wording.facts(reply)


def test_an_edited_question_counts_only_the_messages_before_it(begin: Begin) -> None:
    app = begin(counting(answer("a b c"), answer("d e f")))
    app.ask("1")
    app.ask("2 3")
    app.session.edit(app.session.chat.turns[1])
    app.until(lambda: shown(app).startswith("6 of 100"))


def test_a_pasted_megabyte_is_counted(begin: Begin) -> None:
    app = begin(counting())
    app.type("word " * 200_000)
    app.until(lambda: shown(app) == "The text doesn't fit: 200,000 tokens, 99 left")


def test_a_full_context_is_reported() -> None:  # the bar above the composer says what to do
    assert use_text(ContextUse(100, 100)) == use_text(ContextUse(2000, 100)) == "This chat is full (100 tokens)"
    assert ContextUse(100, 100).chat_full and not ContextUse(100, 100, draft=True).chat_full
    assert use_text(ContextUse(99, 100, exact=False)) == "~1 token left"


def test_a_question_is_centered_in_its_bubble(start: Start) -> None:
    app = start()
    for size in (12, 15, 24):
        app.services.preferences.text_size = size
        app.session.new_chat()
        app.ask("HHHH")
        (prompt,) = app.questions
        bubble = prompt.blocks.parentWidget()
        app.until(lambda bubble=bubble: bubble.height() > 20)
        image = bubble.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        column = range(image.width() // 3, image.width() * 2 // 3)
        ground = image.pixel(image.width() // 2, 3)
        inked = [y for y in range(2, image.height() - 2) if any(image.pixel(x, y) != ground for x in column)]
        above, below = inked[0], image.height() - 1 - inked[-1]
        assert abs(above - below) <= 3, (size, above, below)
    app.services.preferences.reset_text_size()


def test_a_file_that_does_not_fit_is_named_and_can_be_removed(begin: Begin, tmp_path: Path) -> None:
    app = begin(counting())
    files = {"big.txt": "word " * 300, "small.txt": "a few words"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    app.type("Please summarize")
    app.attachments.attach([tmp_path / name for name in files])
    app.until(lambda: shown(app) == "big.txt doesn't fit: 308 tokens, 99 left")
    app.message.send()
    assert app.notices == ["big.txt doesn't fit: 308 tokens, 99 left. Remove it, or attach part of it."]
    app.press("Remove File")
    assert [file.name for file in app.attachments.files] == ["small.txt"] and app.notices == []
    app.until(lambda: "Counting" not in shown(app))
    assert not app.message.obstacle
    app.message.send()
    app.until(lambda: len(app.engine.requests) == 1 and not app.activity.busy)
    assert "a few words" in app.engine.requests[0].messages[-1].content


def test_files_that_do_not_fit_together_are_named_as_a_whole(begin: Begin) -> None:
    app = begin(counting())
    app.message.show_draft("word " * 40, [Attachment("a.txt", "word " * 50), Attachment("b.txt", "word " * 45)])
    app.until(lambda: shown(app) == "The message with its files doesn't fit: 151 tokens, 99 left")


def test_the_meter_never_shows_an_old_number(begin: Begin) -> None:
    """It kept the number from before a long text was pasted, because the count was refused."""
    app = begin(counting(answer("Four words in it.")))
    app.ask("One two")
    app.until(lambda: shown(app) == "6 of 100 tokens used · 94 left")
    changes: list[Callable[[], object]] = [
        lambda: app.type("word " * 40_000),
        lambda: app.type(""),
        lambda: app.message.show_draft("", [Attachment("a.txt", "word " * 500)]),
        lambda: app.message.show_draft("Hi", []),
        lambda: app.session.set_settings(replace(app.session.chat.settings, system="Be brief.")),
        lambda: app.session.edit(app.session.chat.turns[0]),
        app.session.cancel_edit,
        app.session.new_chat,
    ]
    for change in changes:
        texts: list[str] = []
        app.meter.changed.connect(lambda texts=texts: texts.append(shown(app)))
        change()
        assert shown(app) == "Counting tokens…"
        app.until(lambda: shown(app) != "Counting tokens…")
        assert set(texts[:-1]) <= {"Counting tokens…"}, "nothing else is shown in between"


def test_the_same_prompt_is_counted_again_for_another_pair(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.context_meter.COUNT_MS", 120_000)  # it is counted only when asked to
    app = begin(counting())

    def count(words: str) -> None:
        app.until(lambda: (app.meter.count_now(), shown(app) == words)[1])  # a change, such as of the tools, begins the wait again

    app.type("One two")
    count("2 of 100 tokens used · 98 left")
    app.engine.pair = replace(app.engine.pair, context_limit=50)
    app.activity.use()
    app.until(lambda: app.loader.pair is not None and app.loader.pair.context_limit == 50)
    assert app.meter.use is None
    count("2 of 50 tokens used · 48 left")


@pytest.mark.parametrize("arrives", [True, False])
def test_the_count_of_another_pair_is_never_shown(begin: Begin, monkeypatch: pytest.MonkeyPatch, arrives: bool) -> None:
    """It stayed while the files of the next pair were checked, and while the app connected to a server."""
    app = begin(counting())
    app.type("One two")
    app.until(lambda: shown(app) == "2 of 100 tokens used · 98 left")
    wrong: list[ContextUse] = []

    def look() -> None:
        use, pair = app.meter.use, app.loader.pair
        if use is not None and (app.loader.running or pair is None or use.limit != pair.context_limit):
            wrong.append(use)

    for signal in (app.meter.changed, app.loader.changed, app.loader.loaded):
        signal.connect(look)
    gate = threading.Event()
    if arrives:
        app.engine.pair = replace(app.engine.pair, context_limit=50)
    else:
        monkeypatch.setattr(app.engine, "load", lambda *_: refused_by(gate))
    app.activity.use()
    assert app.meter.use is None and not app.meter.counting
    gate.set()
    app.until(lambda: not app.loader.running and not app.meter.counting)
    assert shown(app) == ("2 of 50 tokens used · 48 left" if arrives else "2 of 100 tokens used · 98 left")
    assert wrong == []


def test_the_count_of_a_file_by_another_pair_is_not_shown(begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A count that arrived after the next pair was kept for it."""
    app = begin(counting())
    held: list[Callable[[], object]] = []
    submit = app.services.engine.submit

    def submit_late(request: Request, receive: Receive) -> Run:
        late = isinstance(request, CountTokens) and not held
        return submit(request, lambda found: held.append(lambda: receive(found)) if late else receive(found))

    monkeypatch.setattr(app.services.engine, "submit", submit_late)
    (file := tmp_path / "a.txt").write_text("One two three")
    app.attachments.attach([file])
    app.until(lambda: bool(held))
    app.engine.pair = replace(app.engine.pair, context_limit=50)
    app.activity.use()
    app.until(lambda: not app.loader.running and len(app.attachments.counts) == 1)
    for deliver in held:
        deliver()
    assert [count.limit for count in app.attachments.counts.values()] == [50]


def test_counting_an_old_text_is_canceled(begin: Begin) -> None:
    app = begin(counting())
    meter = app.meter
    app.type("One")
    meter.count_now()
    assert meter.running is not None and (run := meter.running.run) is not None
    app.type("One two")
    assert run.cancelled.is_set() and meter.counting
    app.until(lambda: shown(app).startswith("2 of 100"))


def test_a_count_that_fails_shows_nothing(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(counting())
    app.type("One")
    app.until(lambda: shown(app).startswith("1 of 100"))

    def refused(request: CountTokens) -> TokenCount:
        raise refuse("The template rejects this chat.")

    monkeypatch.setattr(app.engine, "count_tokens", refused)
    app.type("One two")
    app.until(lambda: "Counting" not in shown(app))
    assert shown(app).strip() == ""
    app.send("One two")
    app.until(lambda: len(app.engine.requests) == 1)


sizes = st.integers(0, 60)


@given(sizes, sizes, sizes, sizes, st.lists(sizes.filter(bool), max_size=3), st.integers(0, 3), st.integers(5, 120))
def test_the_part_that_does_not_fit_is_found(
    system: int, tools: int, chat: int, text: int, files: list[int], overhead: int, limit: int
) -> None:
    """With a tokenizer that counts words, and a template that adds some per prompt."""
    history = (Message("user", "w " * chat), Message("assistant", "")) if chat else ()
    made = tuple(Attachment(f"{number}.txt", "w " * size) for number, size in enumerate(files))
    messages = (Message("system", "w " * system),) if system else ()
    base = GenerationRequest(messages, max_tokens=10, tools=(ToolSpec("t", "w " * tools, {}),) if tools else ())
    prompt = NextPrompt(base, history, "w " * text, made)

    def count(request: CountTokens) -> TokenCount:
        described = (tool.description or "" for tool in request.request.tools)
        words = sum(len(part.split()) for part in (*(one.content for one in request.messages), *described))
        return TokenCount(words + overhead, limit)

    steps = measure(prompt)
    request = next(steps)
    while True:
        try:
            request = steps.send(count(request))
        except StopIteration as end:
            use: ContextUse = end.value
            break
    message = text + sum(size + 8 for size in files)  # with the lines around each file
    rest = system + tools + chat + overhead
    assert use.used == rest + (message or (0 if history else 1)) and use.full == (use.used >= limit)
    assert (use.misfit is not None) == use.full
    if use.misfit is None:
        return
    part, left = use.misfit.part, use.misfit.left
    if part in ("text", "file", "message"):
        assert left == limit - rest - 1, "a token of the context is for the reply"
        own = {"text": [text], "file": [size + 8 for size in files], "message": [message]}[part]
        assert use.misfit.tokens - overhead * (part != "message") in own or use.misfit.tokens in own
        assert use.misfit.tokens > left
    elif part == "chat":
        assert system + tools + overhead + 1 < limit <= rest + 1
    elif part == "tools":
        assert use.misfit.tokens == tools and system + overhead + 1 < limit <= system + tools + overhead + 1
    else:
        assert system + overhead + 1 >= limit


def test_the_meter_warns_before_the_context_is_full(start: Start) -> None:
    """Between half full and full, nothing changed."""
    app = start()
    app.until(lambda: not app.meter.counting)
    view, looks = app.window.foot.context, []
    for used in (1000, 1535, 1536, 2047, 2048):
        app.meter.use = ContextUse(used, 2048)
        view.refresh()
        looks.append(view.label.property("look"))
    assert looks == ["faint", "faint", "caution", "caution", "danger"]
