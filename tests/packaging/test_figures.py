"""The numbers in the docs are those of the committed measurements."""

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from mlx_engine.cli import bench_merge, bench_ratio
from mlx_engine.cli.main import main
from tests.mlx_engine.scripted_engine import ScriptedEngine
from tests.packaging import ROOT, script

figures = script("figures.py")
README, PERFORMANCE = ROOT / "README.md", ROOT / "docs/performance.md"

MEMORY = {
    "when": "2001-02-03",
    "budget": 32 << 20,
    "weights": 40 << 20,
    "sitting": [{"prompt": 500, "reused": 400, "active": 70 << 20, "snapshots": 30 << 20, "peak": 90 << 20}] * 4,
    "turns": [
        {
            "turn": 2,
            "prompt_tokens": [140, 160],
            "reused_tokens": [20, 30],
            "with_s": 0.123,
            "without_s": 0.246,
            "ratio": {"value": 0.5, "low": 0.4, "high": 0.6, "pairs": 2},
        }
    ],
    "long_prompts": [{"tokens": 8192, "rows": 80 << 20, "prefilled": 78 << 20, "held": 80 << 20, "peak": 180 << 20}],
}

FIT = {
    "when": "2001-02-03",
    "backend": "wheel",
    "rows": [{"pair": "zebra", "files": 401_000_000, "context": 1024, "predicted": 990_000_000, "measured": 1_000_000_000}],
}


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the committed measurements by those of a scripted engine and made-up peers."""
    folder = tmp_path / "report"
    folder.mkdir()
    options = ["--runs", "2", "--limit", "3", "--cool-down", "0", "--out", str(tmp_path / "speed.json")]
    assert main(["bench", *options], ScriptedEngine) == 0
    measured = json.loads((tmp_path / "speed.json").read_text())
    (folder / "speed.json").write_text(json.dumps(figures.slim(measured)))
    peers = json.loads((figures.REPORT / "peers.json").read_text())
    peers["ratios"]["dflash / plain"] = {"value": 7.77, "low": 6.66, "high": 8.88, "pairs": 24}
    (folder / "peers.json").write_text(json.dumps({**peers, "median_tok_s": {"dflash": 321.4}}))
    (folder / "memory.json").write_text(json.dumps(MEMORY))
    (folder / "fit.json").write_text(json.dumps(FIT))
    monkeypatch.setattr(figures, "REPORT", folder)
    return folder


def test_pages_show_the_committed_measurements() -> None:
    for path, text in figures.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)}: run `python packaging/figures.py`"


def test_other_measurements_make_other_pages(report: Path) -> None:
    front, page = (figures.pages()[path] for path in (README, PERFORMANCE))
    assert front != (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| 7.8 | 6.7 to 8.9 |" in front
    speed = json.loads((report / "speed.json").read_text())
    assert f"Identical replies: {speed['identical']} of {speed['compared']}" in page
    assert "| dflash | 321.4 |" in page and "speed.svg" in page and speed["machine"]["mlx"] in page


def test_the_picture_shows_every_mode_and_kind(report: Path) -> None:
    texts = [part.text for part in ET.fromstring(figures.pages()[report / "speed.svg"]).iter("{http://www.w3.org/2000/svg}text")]
    assert {"plain", "DFlash", "width 4", "width 8", "divisors"} <= set(texts)


@pytest.mark.parametrize("name", ["resources/pictures/width.svg", "tests/benchmarks/report/speed.svg"])
def test_pictures_have_a_background_where_qt_draws_them(qapp: QApplication, name: str) -> None:
    """Qt took a width of 100% for 100 pixels, and dark pages showed dark text on dark ground."""
    renderer = QSvgRenderer(str(ROOT / name))
    image = QImage(renderer.defaultSize(), QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    assert image.pixelColor(image.width() - 2, image.height() - 2) == QColor("white")


def test_memory_is_shown_as_measured(report: Path) -> None:
    page = figures.pages()[PERFORMANCE]
    for words in (
        "on 2001-02-03",
        "prefilled 400 of 2,000 prompt tokens",
        "70.0 MB at most, 70.0 to 70.0 MB in the second half",
        "150 tokens, 25 reused",
        "after 123.0 ms, without reuse 246.0 ms; ratio 0.50 (0.40 to 0.60)",
        "held 80.0 MB, 78.0 MB before decoding; at most 100.0 MB more in passing",
    ):
        assert words in page


def test_predicted_memory_is_shown_next_to_measured_memory(report: Path) -> None:
    page = figures.pages()[PERFORMANCE]
    assert "on 2001-02-03, the BLAS of MLX's wheel:" in page
    assert "401 MB of files,  1,024 tokens: predicted   990.0 MB, measured  1000.0 MB, -1.0%" in page


def test_missing_measurements_are_named(report: Path) -> None:
    for name in ("speed.json", "memory.json", "fit.json"):
        (report / name).unlink()
    front, page = (figures.pages()[path] for path in (README, PERFORMANCE))
    assert "7.8" in front
    assert page.count("Not measured for this version yet.") == 3 and "speed.svg" not in page


def test_a_kept_report_can_be_compared_with_another(report: Path) -> None:
    (kept,) = bench_merge.read_reports([report / "speed.json"])
    assert bench_ratio.compare(kept, kept)["ways"].keys() == {"plain", "dflash", "width 4", "width 8"}
    assert len(json.dumps(kept)) < len((report.parent / "speed.json").read_text())


def test_a_page_without_its_markers_is_refused() -> None:
    page = "before\n<!-- figures -->\nold\n<!-- figures: end -->\nafter\n"
    assert figures.between(page, "figures", "new") == page.replace("old", "\nnew\n")
    for broken in (page.replace("<!-- figures -->", ""), page.replace("<!-- figures: end -->", "")):
        with pytest.raises(figures.Refusal, match="lost its marker <!-- figures"):
            figures.between(broken, "figures", "new")


def test_a_busy_machine_or_a_failed_measurement_changes_nothing(
    report: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_text() for path in report.iterdir()}

    def run(command: list[str], capture: bool = False) -> str:
        if command == figures.PEERS:
            raise figures.Refusal("run.sh failed")
        Path(command[command.index("--out") + 1]).write_text((report / "speed.json").read_text())
        return ""

    monkeypatch.setattr(figures, "run", run)
    for load, words in ((3.0, "busy"), (0.1, "run.sh failed")):
        loads: Any = (load, load, load)
        monkeypatch.setattr(os, "getloadavg", lambda loads=loads: loads)
        assert figures.main(["--measure"]) == 1
        assert words in capsys.readouterr().err
        assert {path.name: path.read_text() for path in report.iterdir()} == before
