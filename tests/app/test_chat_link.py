"""Links from other apps: only a text or a chat comes out of them, whatever they contain."""

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.system.chat_link import MAX_TEXT, ChatLink, is_chat_link, link_to, read_link
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.visible import visible

FORM = "slipstream://new?text="


@given(st.text(max_size=200))
@example("a\r\nb\rc\n\n\n\nd")
@example("<script>alert(1)</script> & 100% + #1 \U0001f600")
@example("Hello\u202eevil\u200b\U000e0041\x1b[31m\0")
def test_the_text_arrives_with_everything_visible(text: str) -> None:
    found = read_link(FORM + quote(text, safe="")).text
    assert visible(found) == found == found.strip() and "\r" not in found and "\n\n\n" not in found
    wanted = visible("\n".join(text.splitlines()))
    assert found.split() == wanted.split()


@given(st.text(max_size=60) | st.text("slipstream:/newquickcha?text=&#%@", max_size=60).map(lambda text: "slipstream:" + text))
def test_any_link_gives_a_place_or_an_error_for_the_user(link: str) -> None:
    try:
        found = read_link(link)
        assert visible(found.text) == found.text and (not found.text or not found.chat)
    except UserError as error:
        assert "slipstream://new?text=" in str(error)
    else:
        assert is_chat_link(link)


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("slipstream://new", ""),
        ("slipstream://new/", ""),
        ("slipstream://new?", ""),
        (FORM, ""),
        ("SLIPSTREAM://NEW?TEXT=1+1%3D2", "1+1=2"),
        ("slipstream://new/?text=a b\nc", "a b\nc"),
        (FORM + "%FF%C3%28", "\ufffd\ufffd("),
        (FORM + "100%", "100%"),
        (FORM + "%0A%20%0A%09%0A Below", "Below"),
        (FORM + "a%0A%0A%20%0A%0A%20%20b", "a\n\n  b"),
    ],
)
def test_the_forms_of_a_link(link: str, text: str) -> None:
    assert is_chat_link(link) and read_link(link) == ChatLink("new", text)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
@example("../x?y&z#%41/")
def test_the_link_to_a_chat_gives_its_id(chat: str) -> None:
    assert read_link(link_to(chat)) == ChatLink("chat", chat=chat)


def test_a_link_opens_the_quick_chat_with_or_without_a_text() -> None:
    assert read_link("slipstream://quick") == read_link("slipstream://Quick/?text=") == ChatLink("quick")
    assert read_link("slipstream://quick?text=a%20b") == ChatLink("quick", "a b")


@pytest.mark.parametrize(
    "link",
    [
        "slipstream:",
        "slipstream://",
        "slipstream://send?text=x",
        "slipstream://new/send?text=x",
        "slipstream://new/../send?text=x",
        "slipstream://new?text=x&send=true",
        "slipstream://new?send=true&text=x",
        "slipstream://new?text=x&text=y",
        "slipstream://new?text=x#send",
        "slipstream://new?prompt=x",
        "slipstream://me@new?text=x",
        "slipstream://new:80?text=x",
        "slipstream://new.example.org?text=x",
        "slipstream:///etc/passwd",
        "slipstream://chat",
        "slipstream://chat/",
        "slipstream://chat/x/y",
        "slipstream://chat/x?text=y",
        "slipstream://quickly",
        "slipstream:new?text=x",
        "https://new?text=x",
        " slipstream://new?text=x",
    ],
)
def test_links_that_ask_for_anything_else_are_refused(link: str) -> None:
    with pytest.raises(UserError, match="can't open this link"):
        read_link(link)


@pytest.mark.parametrize("char", ["x", "\U0001f600"])
def test_a_text_has_a_limit(char: str) -> None:
    link = FORM + quote(char * MAX_TEXT)
    assert read_link(link).text == char * MAX_TEXT
    for longer in (link + quote(char), FORM + "%41" * 10**6, "slipstream://" + "x" * 10**6):
        with pytest.raises(UserError, match="too long"):
            read_link(longer)
