"""CommonMark's examples: each is shown as CommonMark says, except for the listed ones.

commonmark.json holds the examples of CommonMark 0.31.2 (CC BY-SA 4.0), as markdown-it-py 4.3.0 publishes them.
"""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from app.rendering.blocks import Block, CodeBlock, RuleBlock, TextBlock, TextSpan
from app.rendering.markdown import BULLETS, LINE_BREAK, is_safe_link, parse_blocks

EXAMPLES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "commonmark.json").read_text(encoding="utf-8"))
STYLES = {"strong": "bold", "em": "italic", "code": "code"}

# Why the window shows an example differently, and which ones.
SKIPPED = {
    "HTML is off: tags are shown as written": (
        "21 31 148 149 150 151 152 153 154 155 156 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 "
        "175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 308 309 344 475 476 477 491 494 524 613 "
        "614 615 616 617 623 625 626 627 628 629 630 631 642 643"
    ),
    "Reference definitions are off: one could change text far above it, which has been drawn": (
        "23 33 192 193 194 195 196 198 200 201 202 203 204 205 206 207 208 210 214 215 216 217 218 317 527 528 529 530 "
        "531 532 533 534 535 536 537 538 539 540 541 542 543 544 545 549 550 553 554 555 556 557 558 559 560 561 562 "
        "563 564 565 566 567 568 569 570 571 573 576 577 582 583 584 585 586 587 588 589 591 592 593"
    ),
    "\\( and \\[ open formulas": "12 14",
    "Bare addresses are links": "602 608 611",
    "The description of an image is shown as written": "520 574 575",
}
REASONS = {number: reason for reason, numbers in SKIPPED.items() for number in map(int, numbers.split())}


class ExpectedBlocks(HTMLParser):
    """Turns the HTML of an example into the blocks that the window shows for it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._lists: list[int | None] = []  # the next number of each list, None for bullets
        self._quote, self._heading, self._language = 0, 0, ""
        self._marker = ""
        self._inline: list[str] = []  # open elements in a line of text
        self._links: list[str] = []
        self._spans: list[TextSpan] | None = None  # of the open paragraph
        self._code: str | None = None
        self.feed(html)
        self.close()
        self._end_text()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        match tag:
            case "p":
                self._end_text()
                self._spans = []
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._end_text()
                self._heading, self._spans = int(tag[1]), []
            case "ul" | "ol":
                self._end_text(True)
                self._lists.append(int(found.get("start") or 1) if tag == "ol" else None)
            case "li":
                self._end_text()
                number = self._lists[-1]
                self._marker = BULLETS[min(len(self._lists), len(BULLETS)) - 1] if number is None else f"{number}."
                self._lists[-1] = None if number is None else number + 1
            case "blockquote":
                self._end_text(True)
                self._quote += 1
            case "hr":
                self._end_text(True)
                self.blocks.append(RuleBlock(len(self._lists), self._quote))
            case "pre":
                self._end_text(True)
                self._code, self._language = "", ""
            case "br":
                self._add(LINE_BREAK)
            case "img":
                self._add(found.get("alt") or found.get("src") or "", found.get("src") or "")
            case "a":
                self._links.append(found.get("href") or "")
            case _ if self._code is not None:
                self._language = (found.get("class") or "").removeprefix("language-").lower()
            case _:
                self._inline.append(tag)

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._end_text()
            case "ul" | "ol":
                self._lists.pop()
            case "li":
                self._end_text(True)
            case "blockquote":
                self._end_text()
                self._quote -= 1
            case "pre":
                text = (self._code or "").removesuffix("\n")
                self.blocks.append(CodeBlock(self._language, text, len(self._lists), self._quote))
                self._code = None
            case "a":
                del self._links[-1:]
            case _ if tag in self._inline:
                self._inline.remove(tag)

    def handle_data(self, data: str) -> None:
        if self._code is not None:
            self._code += data
        elif self._spans is not None or data.strip():
            after_break = self._spans and self._spans[-1].text.endswith(LINE_BREAK)
            self._add((data if self._spans and not after_break else data.removeprefix("\n")).replace("\n", " "))

    def _add(self, text: str, address: str = "") -> None:
        self._spans = self._spans if self._spans is not None else []
        styles = {name: tag in self._inline for tag, name in STYLES.items()}
        link = next((one for one in (address, *self._links[-1:]) if is_safe_link(one)), "")
        span = TextSpan(text, **styles, link=link)
        if self._spans and self._spans[-1] == TextSpan(self._spans[-1].text, **styles, link=link):
            span = TextSpan(self._spans.pop().text + text, **styles, link=link)
        if text:
            self._spans.append(span)

    def _end_text(self, marked: bool = False) -> None:
        """End the paragraph. With `marked`, an item that starts without text gets a line for its marker."""
        if self._spans is not None or (marked and self._marker):
            spans = self._spans or []
            if spans and self._inline == [] and not self._heading and spans[-1].text.endswith(" ") and not spans[-1].code:
                spans[-1] = TextSpan(spans[-1].text.rstrip(" "), spans[-1].bold, spans[-1].italic, link=spans[-1].link)
            self.blocks.append(TextBlock(tuple(spans), self._heading, len(self._lists), self._quote, self._marker))
            self._marker = ""
        self._spans, self._heading = None, 0


def differs(example: dict[str, Any]) -> bool:
    return tuple(ExpectedBlocks(example["html"]).blocks) != parse_blocks(example["markdown"])


@pytest.mark.parametrize("section", dict.fromkeys(example["section"] for example in EXAMPLES))
def test_examples_are_shown_as_commonmark_says(section: str) -> None:
    for example in EXAMPLES:
        if example["section"] == section and example["example"] not in REASONS:
            assert parse_blocks(example["markdown"]) == tuple(ExpectedBlocks(example["html"]).blocks), example


def test_every_skipped_example_has_one_reason_and_still_differs() -> None:
    assert len(EXAMPLES) == 652
    assert len(REASONS) == sum(len(numbers.split()) for numbers in SKIPPED.values())
    assert [example["example"] for example in EXAMPLES if example["example"] in REASONS and not differs(example)] == []
