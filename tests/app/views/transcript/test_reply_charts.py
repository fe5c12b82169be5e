"""The details of a reply, and their charts."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint

from app.views.transcript.reply_charts import MAX_BAR_WIDTH, PromptBar, RoundsChart, merge_rounds, places
from app.views.transcript.stats_line import StatsDetails
from tests.app.conftest import Start


@pytest.mark.parametrize("count", [1, 2, 5, 26, 80])
def test_the_bars_of_a_chart_share_its_width(count: int) -> None:
    bars = places(640, count)
    first, last = bars[0][0], 640 - sum(bars[-1])
    assert first == pytest.approx(last) and first >= 0, "the same margin on both sides"
    steps = [after - before for (before, _), (after, _) in pairwise(bars)]
    assert steps == pytest.approx([640 / count] * (count - 1))
    assert all(0 < width <= min(MAX_BAR_WIDTH, 640 / count) for _, width in bars)


def test_details_show_one_bar_per_round_and_merge_bars_of_many_rounds(start: Start) -> None:
    app = start()
    app.ask("Hi")
    assert app.reply.buttons.details.isVisible()
    app.reply.buttons.details.click()
    (details,) = app.window.findChildren(StatsDetails)
    assert details.findChild(RoundsChart).bars == [(6.0, 15.0), (4.0, 15.0)]
    assert details.findChild(PromptBar).legend == ("0 reused", "9 processed at 240 tok/s")
    facts = details.facts.shown
    assert "Prompt" not in facts, "the bar says it"
    assert (facts["Mode"], facts["Speed"], facts["Length"]) == (
        "DFlash · 6.0 tokens/round · 33% accepted",
        "512 tok/s",
        "13 tokens",
    )
    assert (facts["Drafted"], facts["Accepted"], facts["Seed"]) == ("30 tokens", "10 (33%)", "7")
    app.until(lambda: details.isVisible() and details.height() >= details.heightForWidth(details.width()))
    panel = details.contentsRect().width() - 32
    assert [details.findChild(chart).width() for chart in (RoundsChart, PromptBar)] == [panel, panel]
    reply = app.reply
    assert details.mapTo(reply, QPoint()).y() >= reply.blocks.geometry().bottom()  # it never covers the reply
    assert not details.isWindow() and app.window.transcript.following
    reply.buttons.details.click()
    app.until(lambda: not app.window.findChildren(StatsDetails))
    bars = merge_rounds(tuple(range(1000)), (16,) * 1000, 80)
    assert len(bars) <= 80 and bars[0] == (6.0, 15.0)
