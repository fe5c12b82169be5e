"""Code is coloured while it grows."""

from app.rendering.highlight import Highlighter, lexer_for

PYTHON = '''
def one(x):
    """A text
over lines."""
    return f"{x}" + 'y'  # why


@decorated
class Two(Base):
    value = 0x1F
'''


def test_growing_code_gets_the_colours_of_the_whole() -> None:
    code = PYTHON * 40
    growing, whole = Highlighter("python"), Highlighter("python")
    for end in range(0, len(code), 31):
        growing.update(code[:end])
    growing.update(code)
    whole.update(code)
    assert growing.lines == whole.lines
    assert len(whole.lines) == code.count("\n") + 1


def test_keywords_strings_and_comments_differ_in_colour() -> None:
    highlighter = Highlighter("python")
    highlighter.update("return 'x'  # note")
    assert [(run.start, run.length, run.colour) for run in highlighter.lines[0]] == [
        (0, 6, "keyword"),
        (7, 1, "string"),
        (8, 1, "string"),
        (9, 1, "string"),
        (12, 6, "comment"),
    ]


def test_code_in_an_unknown_language_is_shown_in_one_colour() -> None:
    assert lexer_for("klingon") is None
    highlighter = Highlighter("klingon")
    highlighter.update("a\nb")
    assert highlighter.lines == [(), ()]


def test_a_text_that_was_replaced_is_read_anew() -> None:
    highlighter = Highlighter("python")
    highlighter.update("'open string")
    highlighter.update("return")
    assert [run.colour for run in highlighter.lines[0]] == ["keyword"]
