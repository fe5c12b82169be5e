"""Dates and times in the window's language."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.dates import date_and_time, short_date
from app.text.language import VARIABLE, use
from app.views.sidebar.chat_sections import day_section


@given(st.datetimes(datetime(1990, 1, 2), datetime(2090, 1, 1)))
def test_a_short_date_has_the_year_unless_it_is_this_one(moment: datetime) -> None:
    use("en")
    text, today = short_date(moment.timestamp()), datetime.now().astimezone()
    if moment.date() != today.date():
        assert text.startswith(f"{moment:%b} {moment.day}") and (str(moment.year) in text) == (moment.year != today.year)


def test_a_moment_of_today_has_its_time_only() -> None:
    use("en")
    now = datetime.now().astimezone()
    assert ":" in short_date(now.timestamp()) and f"{now:%b}" not in short_date(now.timestamp())
    assert ":" in date_and_time((now - timedelta(days=400)).timestamp())


def test_dates_follow_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    moment = datetime(2001, 11, 10, 12).timestamp()
    use("de")
    assert short_date(moment) == "10. Nov. 2001"
    use("zh_CN")
    assert short_date(moment) == "2001年11月10日"
    use("en")
    assert short_date(moment) == "Nov 10, 2001"


@pytest.mark.parametrize(("language", "heading"), [("de", "März 2001"), ("zh_CN", "2001年3月"), ("en", "March 2001")])
def test_months_follow_the_language(monkeypatch: pytest.MonkeyPatch, language: str, heading: str) -> None:
    """The chat list showed the months of old chats in English."""
    monkeypatch.delenv(VARIABLE, raising=False)
    use(language)
    start = datetime(2001, 3, 1).timestamp()
    try:
        assert day_section(datetime(2001, 3, 10, 12).timestamp(), datetime(2026, 11, 30).timestamp()) == (heading, start)
    finally:
        use("en")
