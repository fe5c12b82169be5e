"""Charts in the details of a reply."""

from itertools import pairwise

import pytest

from app.views.transcript.reply_charts import MAX_BAR_WIDTH, places


@pytest.mark.parametrize("count", [1, 2, 5, 26, 80])
def test_the_bars_of_a_chart_share_its_width(count: int) -> None:
    bars = places(640, count)
    first, last = bars[0][0], 640 - sum(bars[-1])
    assert first == pytest.approx(last) and first >= 0, "the same margin on both sides"
    steps = [after - before for (before, _), (after, _) in pairwise(bars)]
    assert steps == pytest.approx([640 / count] * (count - 1))
    assert all(0 < width <= min(MAX_BAR_WIDTH, 640 / count) for _, width in bars)
