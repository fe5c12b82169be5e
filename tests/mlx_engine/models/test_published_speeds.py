"""Predictions compared with published speeds of other programs on Macs."""

from statistics import median

import pytest

from mlx_engine.models.library.speeds import predict_speeds
from tests.benchmarks import predictions
from tests.mlx_engine.models.published_speeds import CHIPS, HELD_OUT, MISSED, MODELS, PLAIN, POINTS, Point
from tests.packaging import ROOT


@pytest.mark.parametrize("point", POINTS, ids=predictions.name)
def test_no_prediction_is_more_than_1_6_times_off(point: Point) -> None:
    low, middle, high = point.predicted()
    assert low <= middle <= high and 1 / 1.6 < middle / point.published < 1.6


def test_the_median_error_is_at_most_25_percent() -> None:
    assert len(POINTS) >= 16 and len({point.chip for point in POINTS}) >= 4
    assert median(predictions.error(point) for point in POINTS) <= 1.25


def test_the_constants_are_not_fitted_to_single_chips() -> None:
    """The efficiency that suits all other chips best predicts the chip that was left out."""
    errors = [error for found in predictions.without_each_chip(predictions.GRID) for error in found.errors]
    assert len(errors) == len(POINTS) and median(errors) <= 1.25 and max(errors) < 1.6


def test_missed_points_are_still_missed() -> None:
    """Otherwise they belong into the other table."""
    assert all(predictions.error(point) >= 1.6 for point in MISSED)


def test_new_measurements_are_predicted_less_well() -> None:
    """They show what the other table doesn't: that its points are known."""
    assert median(predictions.error(point) for point in HELD_OUT) < 1.5


@pytest.mark.parametrize(("chip", "model", "bits", "published"), PLAIN)
def test_plain_decoding_is_predicted_within_10_percent(chip: str, model: str, bits: int, published: float) -> None:
    config = {**MODELS[model].config, "quantization": {"bits": bits, "group_size": 64}}
    size = round(MODELS[model].weights * (bits + 0.5) / 8)
    assert predict_speeds(CHIPS[chip], config, None, (size, 0), 2048)["plain"].middle == pytest.approx(published, rel=0.1)


def test_an_8b_on_an_m4_max_is_predicted_as_a_roofline_by_hand_does() -> None:
    """182 and 285 tok/s; the range was 114 to 422."""
    chat, code = (Point("M4 Max", "Qwen3 8B", 4, "DFlash", text, tok_s, "tok/s") for text, tok_s in (("chat", 182), ("code", 285)))
    assert all(low < point.published < high for point in (chat, code) for low, _, high in [point.predicted()])
    assert chat.predicted()[0] > 110 and code.predicted()[2] < 330


def test_the_docs_show_these_predictions() -> None:
    text = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert predictions.table() in text and predictions.summary() in text
