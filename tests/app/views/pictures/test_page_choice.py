"""Which pages of a PDF are sent, and what they cost."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from app.session.attachment_reader import AttachmentReader
from app.session.context_use import ContextUse, Misfit
from app.session.page_choice import PageChoice, numbers_in, page_tokens
from app.storage.attachments import Attachment, message_of, unread
from app.storage.pictures import Got, Page, Picture, Sent, StoredFile
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.media.pdfs import Why

pages = st.lists(
    st.builds(Page, st.just(1), st.sampled_from(["", "x", "words " * 9]), sent=st.sampled_from(["text", "picture", "no"])),
    max_size=9,
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3", [3]),
        ("1-3, 8", [1, 2, 3, 8]),
        ("1 – 2;9", [1, 2, 9]),
        ("8-", [8, 9]),
        ("7-20", [7, 8, 9]),
        ("", None),
        ("x", None),
        ("0", None),
        ("10", None),
        ("5-2", None),
        ("1--3", None),
    ],
)
def test_ranges_of_pages_are_read(text: str, numbers: list[int] | None) -> None:
    assert numbers_in(text, 9) == numbers


@given(pages, st.integers(0, 100_000))
def test_the_tokens_of_pages_add_up(found: list[Page], total: int) -> None:
    tokens = page_tokens(found, total, None)
    assert len(tokens) == len(found) and all((one == 0) for one, page in zip(tokens, found, strict=True) if page.sent == "no")
    if any(page.sent != "no" for page in found):
        assert abs(sum(tokens) - total) <= len(found)


def test_pictures_cost_what_they_take() -> None:
    class Sight:
        def tokens(self, width: int, height: int) -> int:
            return width * height // 1000

    drawn = Page(2, "", "little_text", "picture", Picture(StoredFile.of(b"x"), 1000, 1200, "PNG"))
    assert page_tokens([Page(1, "x" * 80), drawn, replace(drawn, sent="no")], 1400, Sight()) == [167, 1233, 0]


class Loader(QObject):
    """A fake `PairLoader` with a pair that sees or not, or none."""

    loaded = Signal()
    loaded_from = None

    def __init__(self, can_see: bool | None) -> None:
        super().__init__()
        self.pair = SimpleNamespace(can_see=can_see) if can_see is not None else None


class Meter(QObject):
    """A fake `ContextMeter`."""

    changed = Signal()
    use: ContextUse | None = None


class App:
    """A choice of pages with a real reader, which draws no pages because their PDF has no file."""

    def __init__(self, *files: Attachment, can_see: bool | None) -> None:
        self.loader, self.meter = Loader(can_see), Meter()
        self.reader = AttachmentReader(None, lambda: False, lambda: bool(can_see))  # type: ignore[arg-type]
        self.reader.set_files(list(files))
        self.choice = PageChoice(self.reader, self.meter, self.loader, None)  # type: ignore[arg-type]
        self.changes = 0
        self.choice.changed.connect(self.count)

    def count(self) -> None:
        self.changes += 1


DRAWN = Picture(StoredFile.of(b"page"), 90, 120, "PNG")
LOST = Picture(StoredFile("0" * 64), 90, 120, "PNG")


@st.composite
def pdfs(draw: st.DrawFn) -> Attachment:
    """A PDF with pages of all kinds, as read: a reason makes a picture, which may not be drawn yet."""
    found = []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        why = draw(st.sampled_from(get_args(Why)))
        text = draw(st.sampled_from(["", "x"] if why == "little_text" else ["", "Some words", "Words and a table 1 2 3"]))
        picture = draw(st.sampled_from([None, DRAWN, LOST]))
        found.append(Page(number, text, why, "picture" if why else "text", picture))
    return Attachment("paper.pdf", "", 9, len(found), document=StoredFile.of(b""), page_list=tuple(found))


@st.composite
def choices(draw: st.DrawFn, last: int) -> tuple[str, Sent]:
    """A range that the user enters, and what to do with it."""
    ranges = draw(st.lists(st.tuples(st.integers(1, last), st.integers(0, last), st.booleans()), min_size=1, max_size=3))
    text = ", ".join(f"{start}-{start + more}" if is_range else str(start) for start, more, is_range in ranges)
    return text, draw(st.sampled_from(get_args(Sent)))


def got_of_prompt(pdf: Attachment, page: Page, can_see: bool) -> Got:
    """Return what the prompt has of a page, whose text names its number."""
    message = message_of("", (pdf,), can_see)
    if any(image.name == f"paper.pdf, page {page.number}" for image in message.images):
        return "picture"
    if not re.search(rf"\[Page {page.number} of {pdf.pages}[].]", message.content):
        assert f"text of {page.number}." not in message.content
        return "no"
    if f"text of {page.number}." in message.content:
        return "text" if page.sent == "text" else "text_only"
    return "text" if page.sent == "text" else "unread"


@given(st.data(), st.booleans())
def test_chosen_pages_are_what_the_model_gets(qapp: QApplication, data: st.DataObject, can_see: bool) -> None:
    pdf = data.draw(pdfs(), "pdf")
    pdf = replace(
        pdf, page_list=tuple(replace(one, text=one.text and f"{one.text}: text of {one.number}.") for one in pdf.page_list)
    )
    other = Attachment("a.txt", "Text")
    app = App(other, pdf, can_see=can_see)
    sent = [page.sent for page in pdf.page_list]
    for text, kind in data.draw(st.lists(choices(pdf.pages), max_size=4), "choices"):
        numbers, before, now = numbers_in(text, pdf.pages), app.changes, app.choice.current(pdf)
        assert numbers is not None and now is not None
        app.choice.send_as(now, numbers, kind)
        changed = any(sent[number - 1] != kind for number in numbers)
        sent = [kind if number in numbers else one for number, one in enumerate(sent, 1)]
        assert (app.changes > before) == changed
    chosen = app.choice.current(pdf)
    assert chosen is not None and [page.sent for page in chosen.page_list] == sent
    assert [replace(page, sent="no") for page in chosen.page_list] == [replace(page, sent="no") for page in pdf.page_list]
    assert app.reader.files == [other, chosen]
    got = [app.choice.got(chosen, page) for page in chosen.page_list]
    assert got == [got_of_prompt(chosen, page, can_see) for page in chosen.page_list]
    unread_pages = tuple(page.number for page, one in zip(chosen.page_list, got, strict=True) if one == "unread")
    assert [one.pages for one in unread((chosen,), can_see)] == ([unread_pages] if unread_pages else [])


@given(pdfs(), st.integers(0, 12))
def test_the_first_pages_that_fit_can_be_sent_alone(qapp: QApplication, pdf: Attachment, fit: int) -> None:
    app = App(pdf, can_see=True)
    assert app.choice.fitting(pdf) is None and app.choice.tokens(pdf) is None
    app.meter.use = ContextUse(100, 50, misfit=Misfit("file", 90, 40, file=pdf, pages_fit=fit))
    app.reader.counts[pdf] = TokenCount(90, 50)
    assert app.choice.fitting(pdf) == fit and app.choice.tokens(pdf) == page_tokens(pdf.page_list, 90, None)
    app.choice.send_as(pdf, range(fit + 1, pdf.pages + 1), "no")
    now = app.choice.current(pdf)
    assert now == pdf.first_pages(fit)
    assert fit >= pdf.pages or app.choice.fitting(now) is None


@pytest.mark.parametrize("kind", get_args(Sent))
def test_pages_are_what_was_chosen_while_it_is_open_what_the_model_gets(qapp: QApplication, kind: Sent) -> None:
    page = Page(1, "", "little_text", kind)
    pdf = Attachment("paper.pdf", "", 9, 1, document=StoredFile.of(b""), page_list=(page,))
    drawing: Any = App(pdf, can_see=True)
    drawing.reader._drawer.pdfs = [pdf]
    for app in (App(pdf, can_see=None), drawing):
        assert app.choice.got(pdf, page) == kind


def test_a_removed_pdf_has_no_pages_to_choose(qapp: QApplication) -> None:
    pdf = Attachment("paper.pdf", "", 9, 1, document=StoredFile.of(b""), page_list=(Page(1, "x"),))
    app = App(pdf, can_see=True)
    app.reader.remove(pdf)
    app.choice.send_as(pdf, (1,), "no")
    assert app.choice.current(pdf) is None and app.reader.files == [] and app.changes == 2
