"""Code is colored while it grows."""

import json

import pytest

from app.rendering.highlight import COMMON, Highlighter, lexer_for

PYTHON = '''
def one(x):
    """A text
over lines."""
    return f"{x}" + 'y'  # why


@decorated
class Two(Base):
    value = 0x1F
'''


def test_growing_code_gets_the_colors_of_the_whole() -> None:
    code = PYTHON * 40
    growing, whole = Highlighter("python"), Highlighter("python")
    for end in range(0, len(code), 31):
        growing.update(code[:end])
    growing.update(code)
    whole.update(code)
    assert growing.lines == whole.lines
    assert len(whole.lines) == code.count("\n") + 1


METHOD = '''
    def method(self, x: int = 0x1F) -> str:
        """A text

        over lines, with code: `return "x"`."""
        if x:
            return f"{x}" + 'y'  # why
'''
LONG = {
    "python": "class All:\n" + METHOD * 120,
    "json": json.dumps([{"name": f"n{i}", "values": [i, True, None, 'a"b']} for i in range(300)], indent=2),
    "swift": "class All {\n"
    + '    func f(_ x: Int) -> String {\n        /* of\n        lines */ return "\\(x)" // y\n    }\n' * 200
    + "}\n",
    "yaml": "all:\n" + "  - name: one\n    text: |\n      of # lines\n      - two\n    on: true # y\n" * 200,
}


@pytest.mark.parametrize("language", LONG)
def test_a_long_block_without_statements_at_the_margin_is_not_read_again_and_again(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, read = LONG[language], []
    assert language in COMMON and len(code) > 12_000
    growing, whole = Highlighter(language), Highlighter(language)
    real = growing._lexer.get_tokens
    monkeypatch.setattr(growing._lexer, "get_tokens", lambda text: read.append(len(text)) or real(text))
    updates = range(200, len(code) + 200, 200)
    for end in updates:
        growing.update(code[:end])
    whole.update(code)
    assert growing.lines == whole.lines
    assert sum(read) < len(updates) * 6000


def test_keywords_strings_and_comments_differ_in_color() -> None:
    highlighter = Highlighter("python")
    highlighter.update("return 'x'  # note")
    assert [(run.start, run.length, run.color) for run in highlighter.lines[0]] == [
        (0, 6, "keyword"),
        (7, 1, "string"),
        (8, 1, "string"),
        (9, 1, "string"),
        (12, 6, "comment"),
    ]


def test_code_in_an_unknown_language_is_shown_in_one_color() -> None:
    assert lexer_for("klingon") is None
    highlighter = Highlighter("klingon")
    highlighter.update("a\nb")
    assert highlighter.lines == [(), ()]


def test_a_text_that_was_replaced_is_read_anew() -> None:
    highlighter = Highlighter("python")
    highlighter.update("'open string")
    highlighter.update("return")
    assert [run.color for run in highlighter.lines[0]] == ["keyword"]
