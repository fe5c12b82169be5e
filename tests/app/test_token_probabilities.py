"""Token probabilities: recorded only if asked for, kept in memory only, and shown with the alternatives."""

import json
from itertools import pairwise
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLabel

from app.rendering.blocks import qt_length
from app.session.reply_runner import ALTERNATIVES
from app.storage.records import chat_to_json
from app.storage.reply import MOST_PROBABILITIES
from app.views.transcript.call_card import shown
from app.views.transcript.stats_line import StatsDetails
from app.views.transcript.token_probabilities import TokenProbabilities, position_text, texts_of
from mlx_engine.contract.events import Commit
from mlx_engine.contract.token_logprobs import PositionLogprobs, TokenLogprob
from tests.app.conftest import Begin
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done


def token(number: int, text: str | bytes, share: float) -> TokenLogprob:
    return TokenLogprob(number, text.encode() if isinstance(text, str) else text, log(share))


YES = PositionLogprobs(token(1, "Yes", 0.75), (token(1, "Yes", 0.75), token(2, "No", 0.2)))
LINE = PositionLogprobs(token(3, "\n<b>", 0.0004), (token(4, ".", 0.9),))
END = PositionLogprobs(token(5, "", 1.0), (), hidden=True)


def recorded(*positions: PositionLogprobs) -> Commit:
    text = "".join(one.chosen.text.decode() for one in positions)
    return Commit(text, "answer", tuple(range(len(positions))), ("target",) * len(positions), logprobs=positions)


def test_probabilities_are_recorded_only_if_asked_for_and_not_stored(begin: Begin) -> None:
    engine = ScriptedEngine([answer("Fine"), [recorded(YES, LINE), commit(""), recorded(END), done()]])
    app = begin(engine)
    app.ask("One")
    assert engine.requests[-1].logprobs is None, "recording costs time"
    assert app.reply.probabilities == []
    app.services.preferences.token_probabilities = True
    app.ask("Two")
    assert engine.requests[-1].logprobs == ALTERNATIVES
    assert app.reply.probabilities == [YES, LINE]
    app.services.preferences.token_probabilities = False
    app.ask("Three")
    assert engine.requests[-1].logprobs is None
    assert "logprob" not in json.dumps(chat_to_json(app.session.chat))


def test_the_details_show_the_token_under_the_pointer_and_at_the_cursor(begin: Begin) -> None:
    app = begin(ScriptedEngine([[recorded(YES, LINE), done()]]))
    app.services.preferences.token_probabilities = True
    app.ask("One")
    assert app.reply.stats is not None
    details = StatsDetails(app.theme, app.reply, app.reply.stats)
    shown_tokens = details.findChild(TokenProbabilities)
    assert shown_tokens is not None and shown_tokens.text.toPlainText() == "Yes\n<b>"
    assert shown_tokens.about.text() == "Point at a token, or move the cursor to it."
    assert [shown_tokens.text.token_at(at) for at in range(-1, 8)] == [None, 0, 0, 0, 1, 1, 1, 1, None]
    assert shown_tokens.text.textCursor().position() == 0, "its beginning is shown"
    cursor = QTextCursor(shown_tokens.text.document())
    cursor.setPosition(1)
    shown_tokens.text.setTextCursor(cursor)
    assert shown_tokens.about.text() == "“Yes” 75.0% · Others: “No” 20.0%"
    shown_tokens.show_token(1)
    assert shown_tokens.about.text() == "“⏎<b>” 0.0% · Others: “.” 90.0%"
    app.reply.probabilities.clear()
    assert StatsDetails(app.theme, app.reply, app.reply.stats).findChild(TokenProbabilities) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" ", "space"),
        (" " * 4, "space ×4"),
        ("\n\n", "line break ×2"),
        ("\n\t", "line break, tab"),
        ("\xa0", "U+00A0"),
        ("", "no text"),
    ],
)
def test_tokens_of_spaces_have_names(text: str, expected: str) -> None:
    position = PositionLogprobs(token(1, text, 0.75), (token(2, " the", 0.2), token(3, text * 2, 0.05)))
    assert position_text(position).startswith(f"{expected} 75.0% · Others: “ the” 20.0%, {expected.split()[0]}")


def test_the_first_tokens_of_a_long_reply_are_kept(begin: Begin) -> None:
    app = begin(ScriptedEngine([[*[recorded(YES, LINE)] * (MOST_PROBABILITIES // 2 + 3), done()]]))
    app.services.preferences.token_probabilities = True
    app.ask("One")
    assert app.reply.probabilities == [YES, LINE] * (MOST_PROBABILITIES // 2)
    assert app.reply.stats is not None
    details = StatsDetails(app.theme, app.reply, app.reply.stats)
    texts = [label.text() for label in details.findChildren(QLabel)]
    assert "Probabilities of the first 4,000 tokens, kept until you open another chat" in texts


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=20), st.data())
def test_the_texts_of_tokens_are_those_of_the_reply(text: str, data: st.DataObject) -> None:
    """Tokens may be parts of characters. A carriage return is shown by what follows it, perhaps in another token."""
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=6)) | {0, len(raw)})
    positions = [PositionLogprobs(token(at, raw[at:end], 0.5), ()) for at, end in pairwise(cuts)]
    found = list(texts_of(positions))
    assert len(found) == len(positions)
    assert "".join(found) == shown(text)
    assert qt_length("".join(found)) == sum(map(qt_length, found))
