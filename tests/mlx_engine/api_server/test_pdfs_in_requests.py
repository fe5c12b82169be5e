"""PDFs in requests: texts and pictures of their pages, limits, and what is kept for later requests."""

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from mlx_engine.api_server import content_parts, pdf_parts
from mlx_engine.api_server.app import Api
from mlx_engine.api_server.chat_completions import ChatExchange
from mlx_engine.api_server.content_parts import FileReading
from mlx_engine.api_server.exchanges import RequestFiles
from mlx_engine.api_server.guard import Guard
from mlx_engine.api_server.listener import Listener
from mlx_engine.api_server.messages import MessagesExchange
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.served_models import ServedModels
from mlx_engine.contract.attached_images import image_type
from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.contract.requests import Message
from mlx_engine.hardware.child_process import ChildFailure
from mlx_engine.media import media_process
from mlx_engine.media.pdfs import PdfPage
from tests.mlx_engine.api_server.serving import Serving
from tests.mlx_engine.api_server.test_images_in_requests import BLIND, DIALECTS, PDF, SEEING, chat, encoded, url
from tests.mlx_engine.media.made_media import line, pdf, picture, saved


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    media_process.stop()


@pytest.mark.parametrize(
    ("dialect", "part"),
    [
        ("chat", lambda data: {"type": "file", "file": {"filename": "a.pdf", "file_data": url(data, "application/pdf")}}),
        ("responses", lambda data: {"type": "input_file", "filename": "a.pdf", "file_data": url(data, "application/pdf")}),
        ("messages", lambda data: {"type": "document", "title": "a.pdf", "source": {"type": "base64", "data": encoded(data)}}),
    ],
)
def test_pages_of_a_pdf_are_texts_or_pictures(dialect: str, part: Any) -> None:
    photo = "q 180 0 0 180 10 10 cm /I Do Q"
    data = pdf(line("First page"), photo + line("A photo"), line("Last page"), image=saved(picture(), "JPEG"))
    build, asked, asked_result, _ = DIALECTS[dialect]
    for ask in (asked, asked_result):
        [found] = ask([*build(["See:"]), part(data), *build(["Why?"])])
        before = "See:\n\n--- a.pdf ---\n\n[Page 1 of 3]\nFirst page\n\n[Page 2 of 3]\nA photo"
        assert found.content == f"{before}\n\n[Page 3 of 3]\nLast page\n\n--- end of a.pdf ---\n\nWhy?"
        [image] = found.images
        assert (image.at, image.name, image_type(image.data)) == (len(before), "a.pdf, page 2", "image/png")
        [blind] = ask([*build(["See:"]), part(data), *build(["Why?"])], BLIND)
        assert blind.content == found.content.replace("Page 2 of 3", "Page 2 of 3. You can't see its picture")
        assert not blind.images
    with pytest.raises(ApiError, match="is damaged") as refusal:
        asked([part(b"%PDF-1.7 ?")])
    assert refusal.value.status == 400 and str(refusal.value.param).startswith(("messages.0.content.0.", "input.0.content.0."))
    assert "[" in asked_result([part(b"%PDF-1.7 ?")], BLIND)[0].content


def test_pdfs_are_kept_and_their_pictures_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pdf(*["q 180 0 0 180 10 10 cm /I Do Q"] * 2, image=saved(picture(), "JPEG"))
    document = {"type": "document", "source": {"type": "base64", "data": encoded(data)}}
    reading = FileReading()

    def ask(*content: Any) -> tuple[Message, ...]:
        body = {"messages": [{"role": "user", "content": [*content]}], "max_tokens": 9}
        return MessagesExchange(body).begin(SEEING, reading)[0].messages

    monkeypatch.setattr(content_parts, "MAX_IMAGES", 1)
    for _ in range(2):
        with pytest.raises(ApiError, match="has 2 pages to show as pictures, but 1 of") as refusal:
            ask(document)
        assert (refusal.value.code, refusal.value.param) == ("too_many_images", "messages.0.content.0.source.data")
    monkeypatch.setattr(content_parts, "MAX_IMAGES", 5)
    first = ask(document, document)
    monkeypatch.setattr(pdf_parts, "pdf_pages", None)
    assert ask(document, document) == first and len(first[0].images) == 4
    renamed = ask(document | {"title": "b.pdf"})[0].images
    assert [image.name for image in renamed] == ["b.pdf, page 1", "b.pdf, page 2"]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make every PDF two pages of 100 bytes each, and note the pages that are read (0) and drawn."""
    drawn: list[int] = []
    pages = (PdfPage(1, "", "picture", "little_text"), PdfPage(2, "", "picture", "little_text"))
    monkeypatch.setattr(pdf_parts, "pdf_pages", lambda *_: (drawn.append(0), pages)[1])
    monkeypatch.setattr(pdf_parts, "pdf_picture", lambda _, number, **__: (drawn.append(number), bytes(100))[1])
    return drawn


def test_a_pdf_that_is_larger_than_the_cache_is_not_kept(drawn: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    reading = FileReading()
    monkeypatch.setattr(pdf_parts, "MOST_BYTES", 199)
    for _ in range(2):
        chat([PDF], SEEING, reading)
    assert drawn == [0, 1, 2] * 2
    monkeypatch.setattr(pdf_parts, "MOST_BYTES", 200)
    for _ in range(2):
        chat([PDF], SEEING, reading)
    assert drawn == [0, 1, 2] * 3


def test_requests_at_the_same_time_read_a_pdf_once(drawn: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    reading, started, waited = FileReading(), threading.Event(), threading.Event()
    own = pdf_parts.pdf_pages
    monkeypatch.setattr(pdf_parts, "pdf_pages", lambda *given: (started.set(), waited.wait(60), own(*given))[2])
    with ThreadPoolExecutor() as threads:
        found = [threads.submit(chat, [PDF], SEEING, reading) for _ in range(3)]
        assert started.wait(60)
        canceled = threading.Event()
        canceled.set()
        with pytest.raises(WorkCancelled):  # while another request reads it
            chat([PDF], SEEING, replace(reading, cancel=canceled))
        waited.set()
        assert len({each.result() for each in found}) == 1
    assert drawn == [0, 1, 2]


def test_the_pictures_of_a_request_have_a_limit_in_bytes(drawn: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_parts, "MOST_BYTES", 399)
    assert len(chat([PDF])[0].images) == 2
    with pytest.raises(ApiError, match=r"too large as pictures\..*Send fewer pages") as refusal:
        chat([PDF, PDF])
    assert (refusal.value.code, refusal.value.param) == ("pictures_too_large", "messages.0.content.1.file.file_data")
    monkeypatch.setattr(content_parts, "MOST_BYTES", 99)
    drawn.clear()
    with pytest.raises(ApiError, match="too large as pictures"):
        chat([PDF])
    assert drawn == [0, 1]


def test_a_pdf_has_a_time_limit(drawn: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 70))
    monkeypatch.setattr(pdf_parts, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with pytest.raises(ApiError, match="more than 120 seconds to read") as refusal:
        chat([PDF])
    assert (refusal.value.code, drawn) == ("pdf_too_slow", [0, 1])


def test_pdfs_that_cannot_be_read_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = FileReading()
    for number in range(3):
        with pytest.raises(ApiError, match="is damaged"):
            chat([{"type": "file", "file": {"file_data": encoded(b"%%PDF-1.7 %d" % number)}}], SEEING, reading)
    monkeypatch.setattr(pdf_parts, "pdf_pages", lambda *_: (_ for _ in ()).throw(WorkCancelled))
    with pytest.raises(WorkCancelled):
        chat([PDF], SEEING, reading)
    assert not reading.pdfs._known


@pytest.mark.parametrize(
    ("reason", "status", "codes"),
    [
        ("start", 500, ["media_process"] * 2),
        ("stopped", 503, ["media_stopped"] * 2),
        ("slow", 400, ["pdf_too_slow", "image_slow"]),
    ],
)
def test_a_problem_of_the_server_has_a_servers_status(
    monkeypatch: pytest.MonkeyPatch, reason: str, status: int, codes: list[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ChildFailure(reason)

    monkeypatch.setattr(media_process.pdfs, "ask", fail)
    monkeypatch.setattr(media_process.images, "ask", fail)
    image = {"type": "image_url", "image_url": {"url": url(saved(picture(), "PNG"), "image/png")}}
    for part, code in zip((PDF, image), codes, strict=True):
        exchange = ChatExchange({"messages": [{"role": "user", "content": [part]}]})
        with pytest.raises(ApiError) as refusal:
            asyncio.run(RequestFiles().check(exchange))
        assert (refusal.value.status, refusal.value.code) == (status, code)
        assert str(refusal.value.param).startswith("messages.0.content.0.")


def test_a_server_that_stops_forgets_its_pdfs(drawn: list[int]) -> None:
    api = Api(ServedModels(None, None, load=print), Guard("127.0.0.1", None))  # type: ignore[arg-type]
    chat([PDF], SEEING, FileReading(api.files.pdfs))

    async def serve() -> None:
        stop = asyncio.Event()
        await Listener("127.0.0.1", 0).serve(api, stop, stop.set)

    asyncio.run(serve())
    chat([PDF], SEEING, FileReading(api.files.pdfs))
    assert drawn == [0, 1, 2] * 2


@pytest.mark.parametrize(("dialect", "stream"), [("chat/completions", False), ("messages", True)])
def test_a_refusal_says_how_many_pages_fit(demo_server: Serving, dialect: str, stream: bool) -> None:
    def content(pages: int) -> list[Any]:
        data = pdf(*[line(f"The words on the page {number} " * 7) for number in range(pages)])
        file = {"type": "file", "file": {"filename": "a.pdf", "file_data": url(data, "application/pdf")}}
        document = {"type": "document", "title": "a.pdf", "source": {"type": "base64", "data": encoded(data)}}
        return [file if dialect == "chat/completions" else document, {"type": "text", "text": "Why?"}]

    def refusal(pages: int) -> str:
        messages = [{"role": "user", "content": content(pages)}]
        got = demo_server.post(f"/v1/{dialect}", messages=messages, max_tokens=1, stream=stream)
        return "" if got.status_code == 200 else got.json()["error"]["message"]

    found = re.search(r"maximum.*Of “messages\.0\.content\.0\.[a-z_.]+”, the first (\d\d) of 40 pages fit\.$", refusal(40))
    assert found is not None
    assert not refusal(int(found[1])) and refusal(int(found[1]) + 1)
    text = demo_server.post(f"/v1/{dialect}", messages=[{"role": "user", "content": "Why? " * 3000}], max_tokens=1)
    assert text.status_code == 400 and "pages" not in text.json()["error"]["message"]
