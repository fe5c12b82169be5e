"""Documents of all formats, and files that are damaged or hostile."""

import io
import random
from collections.abc import Iterator

import pytest
from pypdf import PdfReader, PdfWriter

from mlx_engine.contract.errors import UserError
from mlx_engine.documents import document, headings
from mlx_engine.documents.document import MOST_TEXT_BYTES, check_size, read_document
from mlx_engine.documents.passages import LONGEST_GIVEN_PAGE, LONGEST_PAGE
from mlx_engine.media import document_texts, media_process
from tests.mlx_engine.documents.made_documents import archive, paragraph, root, word
from tests.mlx_engine.media.made_media import line, locked, pdf


@pytest.fixture(scope="module", autouse=True)
def process() -> Iterator[None]:
    yield
    media_process.stop()


def text_of(data: bytes, name: str) -> str:
    pages = read_document(data, name)
    assert pages is not None
    return "\f".join(page.text for page in pages)


def titles_of(data: bytes, name: str) -> list[tuple[int, str]]:
    pages = read_document(data, name) or []
    return [(heading.level, heading.title) for page in pages for heading in page.headings]


def code_of(data: bytes, name: str) -> str:
    """Return the code of the error, whose message must be clear."""
    with pytest.raises(UserError, match=f"“{name}”.*\\.$") as caught:
        read_document(data, name)
    return caught.value.text.code


def test_text_files_are_decoded() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"):
        assert text_of("Grüße\r\nzwei".encode(encoding), "a.txt") == "Grüße\nzwei"
    assert text_of(b"one page\x0canother\x1a", "a.txt") == "one page\x0canother\x1a"
    assert read_document(b"\x7fELF\0\0\0", "a") is None
    assert read_document(bytes(range(1, 32)) * 50, "a.txt") is None


def test_pages_that_are_too_long_are_divided() -> None:
    long = "word " * (LONGEST_GIVEN_PAGE // 5)
    pages = read_document(f"{long}\f# Two\n{long}\f".encode(), "a.txt")
    assert pages and len(pages[0].text) == LONGEST_GIVEN_PAGE and all(len(page.text) <= LONGEST_PAGE for page in pages[1:])
    assert "".join(page.text for page in pages[1:]) == f"# Two\n{long}" and pages[-1].text == ""
    assert [(number, heading.title) for number, page in enumerate(pages) for heading in page.headings] == [(1, "Two")]


def test_the_number_of_pages_and_headings_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "_MOST_GIVEN_PAGES", 3)
    monkeypatch.setattr(headings, "_MOST_HEADINGS", 2)
    assert text_of(b"a\fb\fc", "a.txt") == "a\fb\fc"
    assert text_of(b"a\fb\fc\fd", "a.txt") == "a\nb\nc\nd"
    assert titles_of(b"# a\n# b\n# c\n", "a.md") == [(1, "a"), (1, "b")]


def test_code_has_its_definitions_as_headings() -> None:
    assert titles_of(b"# Comment\n\ndef f():\n    pass\n", "a.py") == [(1, "def f():")]
    assert titles_of(b"# Title\n\ndef f():\n", "a.md") == [(1, "Title")]


def test_pages_and_outline_of_a_pdf() -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(line("First page"), line("Second page")))))
    above = writer.add_outline_item(title="Part", page_number=0)
    writer.add_outline_item(title="Second", page_number=1, parent=above)
    file = io.BytesIO()
    writer.write(file)
    pages = read_document(file.getvalue(), "a.pdf")
    assert pages and [page.text for page in pages] == ["First page", "Second page"]
    assert titles_of(file.getvalue(), "a.pdf") == [(1, "Part"), (2, "Second")]
    assert read_document(pdf(""), "blank.pdf")


def test_text_of_a_word_file() -> None:
    box = "<w:txbxContent>" + paragraph("in a box") + "</w:txbxContent>"
    data = word(
        paragraph("Book", "Titel"),
        paragraph("Eins", "berschrift1"),
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t xml:space='preserve'>b &amp; c</w:t><w:br/><w:t>d</w:t></w:r></w:p>",
        "<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins></w:p>",
        f"<w:p><w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>",
        "<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>",
        "<w:tbl><w:tr><w:tc>" + paragraph("cell") + "</w:tc></w:tr></w:tbl>",
        notes=paragraph("a note"),
    )
    text = "# Book\n\n# Eins\n\na\tb & c\nd\n\ninserted\n\nin a box\n\n\f\n\ncell\n\na note"
    assert text_of(data, "a.docx") == text
    assert titles_of(data, "a.docx") == [(1, "Book"), (1, "Eins")]


def test_page_breaks_and_moved_text_of_a_word_file() -> None:
    drawn, given = "<w:r><w:lastRenderedPageBreak/></w:r>", "<w:r><w:br w:type='page'/></w:r>"
    moved = "<w:r><w:t>moved</w:t></w:r>"
    data = word(
        f"<w:p><w:r><w:t>one</w:t></w:r>{given}</w:p>",
        f"<w:p>{drawn}<w:moveFrom>{moved}</w:moveFrom><w:r><w:t>two</w:t></w:r></w:p>",
        f"<w:p>{drawn}<w:r><w:t>three</w:t></w:r>{given}{given}</w:p>",
        f"<w:p><w:moveTo>{moved}</w:moveTo></w:p>",
    )
    assert [page.strip() for page in text_of(data, "a.docx").split("\f")] == ["one", "two", "three", "", "moved"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<svg><title>no</title><p>a<svg>no</svg>", "a"),
        ("<svg>a b", "a b"),
        ("<noscript>a<p>b", "a\n\nb"),
        ("<object>no<object>no</OBJECT>b", "b"),
        ("<svg><svg>no</svg>no<svg>no</svg>b", "b"),
        ("a<script>no <p> no", "a"),
        ("<h1><div>a</div><div>b</div></h1><h2></h2><p>c", "# a\n\nb\n\nc"),
        ("<ul><li><p>a</p><p>b<li></li></ul>c", "- a\n\nb\n\nc"),
    ],
)
def test_html_that_is_not_closed_or_is_nested(html: str, text: str) -> None:
    assert text_of(html.encode(), "a.html") == text


def test_text_of_an_html_file() -> None:
    data = (
        b"<!doctype html><html><head><title>Top</title><style>p {}</style><script>if (a < b) call()</script></head>"
        b"<body><h2>Two  &amp;\n half</h2><p>One <b>bold</b> word<br>line<svg/> after<svg><text>no</text></svg></p>"
        b"<ul><li>x<li>y</ul><table><tr><td>1<td>2</table><pre>  a\n  b</pre><p>unclosed &lt;tag&gt;"
    )
    assert text_of(data, "a.html") == (
        "# Top\n\n## Two & half\n\nOne bold word\nline after\n\n- x\n\n- y\n\n1\t2\n\n  a\n  b\n\nunclosed <tag>"
    )
    assert titles_of(data, "a.HTM") == [(1, "Top"), (2, "Two & half")]
    assert text_of('<meta charset="koi8-r"><p>Привет'.encode("koi8-r"), "a.html") == "Привет"


def test_damaged_files_are_named() -> None:
    assert code_of(b"no archive", "a.docx") == "document_damaged"
    assert code_of(archive({"other.xml": "<a/>"}), "a.docx") == "document_damaged"
    assert code_of(archive({"word/document.xml": "<a"}), "a.docx") == "document_damaged"
    assert code_of(b"%PDF-1.7\nno", "a.pdf") == "pdf_damaged"
    assert code_of(locked("secret"), "a.pdf") == "pdf_locked"


def test_bombs_end_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    entities = "".join(f'<!ENTITY a{number + 1} "{f"&a{number};" * 10}">' for number in range(9))
    bomb = f'<!DOCTYPE w [<!ENTITY a0 "ha">{entities}]>'
    assert code_of(word(paragraph("&a9;"), head=bomb), "a.docx") == "document_damaged"
    zeros = archive({"word/document.xml": root("document", " " * (100 << 20))})
    assert len(zeros) < 200_000 and code_of(zeros, "a.docx") == "document_memory"
    monkeypatch.setattr(document_texts, "MOST_CHARACTERS", 1000)
    assert code_of(word(*[paragraph("x" * 100)] * 11), "a.docx") == "document_too_much_text"
    assert code_of(b"<p>" + b"x" * 1001, "a.html") == "document_too_much_text"
    assert code_of(pdf(*[line("x" * 100)] * 11), "a.pdf") == "document_too_much_text"


def test_a_file_that_takes_too_long_ends_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_texts, "_SECONDS", 0.0)
    assert code_of(b"<p>" * 200_000, "a.html") == "document_slow"


def test_files_that_are_too_large_are_not_read() -> None:
    for name, limit in (("a.pdf", document_texts.MOST_FILE_BYTES), ("a.txt", MOST_TEXT_BYTES)):
        check_size(name, limit)
        with pytest.raises(UserError, match=f"“{name}” is too large. The limit for documents is {limit // 10**6} MB"):
            check_size(name, limit + 1)


@pytest.mark.parametrize("name", ["a.docx", "a.html"])
def test_mutated_files_are_read_or_end_with_a_message(name: str) -> None:
    rng = random.Random(7)
    plain = root("document", paragraph("text", "berschrift1") * 5).encode()
    for _ in range(60):
        data = bytearray(plain if name.endswith("x") else b"<h1>a</h1><!-- c --><p class='x'>&amp;&#65;<![CDATA[x]]><br/>" * 3)
        for _ in range(rng.choice((1, 3, 10))):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        file = archive({"word/document.xml": bytes(data)}) if name.endswith("x") else bytes(data)
        try:
            assert read_document(file, name) is not None
        except UserError as error:
            assert error.text.code == "document_damaged"
