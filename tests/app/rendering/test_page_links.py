"""Replies that cite a page of a PDF link it, and their text stays the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rendering.blocks import TableBlock, TextBlock, plain_text
from app.rendering.markdown import parse_blocks
from app.rendering.page_links import CitablePages, document_in, link_tip, page_in, with_page_links

PIECES = st.sampled_from(
    [
        "page 3",
        "[Page 2 of 9]",
        "S. 4",
        "Seite 99",
        "第 5 页",
        "`page 1`",
        "[page 2](https://a.org)",
        "**p. 7**",
        "| a",
        "\n",
        " ",
        "12",
        "a.md ",
        " of b/a.md",
    ]
)
PAGES = CitablePages(4, (("x/a.md", 7), ("b/a.md", 1)))


def links(text: str, last: int = 9) -> list[tuple[str, int]]:
    return [(cited, page_in(address)) for cited, address in addresses(text, CitablePages(last))]


def addresses(text: str, pages: CitablePages) -> list[tuple[str, str]]:
    found = []
    for block in with_page_links(parse_blocks(text), pages):
        cells = [block.spans] if isinstance(block, TextBlock) else []
        cells += [cell for row in block.rows for cell in row] if isinstance(block, TableBlock) else []
        found += [(span.text, span.link) for cell in cells for span in cell if page_in(span.link)]
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See page 3.", [("page 3", 3)]),
        ("See p. 3 and pages 4–6", [("p. 3", 3), ("pages 4", 4)]),
        ("The sum is on [Page 2 of 9].", [("[Page 2 of 9]", 2)]),
        ("Siehe Seite 4 und S. 5", [("Seite 4", 4), ("S. 5", 5)]),
        ("见第 3 页和第5页", [("第 3 页", 3), ("第5页", 5)]),
        ("**Page 7** says", [("Page 7", 7)]),
        ("| Where |\n|---|\n| page 2 |", [("page 2", 2)]),
        ("page 10, page 0, page 3.5, homepage 3, U.S. 10-K, U.S. 12 states, `page 3`, [page 4](https://a.org)", []),
    ],
)
def test_cited_pages_are_linked(text: str, found: list[tuple[str, int]]) -> None:
    assert links(text) == found


def test_without_a_pdf_nothing_is_linked() -> None:
    assert links("See page 3.", 0) == []


@given(st.lists(PIECES, max_size=8).map("".join))
def test_links_change_no_text(text: str) -> None:
    blocks = parse_blocks(text)
    assert list(map(plain_text, with_page_links(blocks, PAGES))) == list(map(plain_text, blocks))


def test_a_link_says_where_it_leads() -> None:
    block = with_page_links(parse_blocks("See page 3."), CitablePages(3))[0]
    assert isinstance(block, TextBlock)
    assert link_tip(block.spans[1].link) == "Show page 3"
    assert link_tip("https://a.org/page:3") == "https://a.org/page:3" and page_in("https://a.org") == 0


READ = CitablePages(0, (("Notes/bees.md", 1), ("Notes/bees.md", 2), ("Notes/wasps.md", 1), ("More/bees.md", 4), ("a_b_c.md", 5)))


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("Honey [Notes/bees.md, page 2].", ["Notes/bees.md"]),
        ("[Notes/bees.md, page 1], then [Notes/wasps.md, page 1]", ["Notes/bees.md", "Notes/wasps.md"]),
        ("[Notes/bees.md, page 1; page 2]", ["Notes/bees.md", "Notes/bees.md"]),
        ("(page 1 of wasps.md; page 4 of “More/bees.md”)", ["Notes/wasps.md", "More/bees.md"]),
        ("Notes/bees.md, page 1 and page 1 of wasps.md", ["Notes/bees.md", "Notes/wasps.md"]),
        ("wasps.md第1页", ["Notes/wasps.md"]),
        ("`wasps.md`, **page 1**, and [`a_b_c.md`, page 5]", ["Notes/wasps.md", "a_b_c.md"]),
        ("| File | Place |\n|---|---|\n| wasps.md | page 1 |\n| Notes/bees.md | page 1 |", ["Notes/wasps.md", "Notes/bees.md"]),
        ("See page 1.", [""]),
        ("bees.md, page 4", [""]),  # two documents have this name
        ("[Notes/wasps.md, page 2], [other.md, page 3], page 9", []),  # it hasn't read them
        (f"Notes/wasps.md says {'so ' * 60} on page 2", [""]),
    ],
)
def test_a_citation_leads_to_the_document_that_it_names(text: str, documents: list[str]) -> None:
    assert [document_in(address) for _, address in addresses(text, READ)] == documents


def test_a_link_to_a_document_says_which_one() -> None:
    [(_, address)] = addresses("[Notes/bees.md, page 2]", READ)
    assert (page_in(address), link_tip(address)) == (2, "Show bees.md, page 2")
