"""`slipstream bench --compare` and `--picture`: reports of several measurements."""

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli import bench_merge, bench_picture
from mlx_engine.cli.bench_merge import ReportLine
from mlx_engine.cli.main import main
from mlx_engine.prompt_sets.published_results import PublishedResult, published_result
from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS
from tests.mlx_engine.scripted_engine import ScriptedEngine

M4 = {"name": "Apple M4 Max", "memory_bytes": 64 << 30}


def report(**changed: Any) -> dict[str, Any]:
    """A report of Qwen3-8B, without replies. Names with a dot change a part."""
    made: dict[str, Any] = {
        "pair": {"name": "Qwen3-8B-4bit", "target": "mlx-community/Qwen3-8B-4bit", "drafter_kind": "DFlash", "remote": ""},
        "machine": {"device": "Metal", "facts": M4},
        "when": "2026-11-30T08:00:00+00:00",
        **{"set": "gsm8k", "prompts": 128, "temperature": 0.0, "thinking": False},
        "plain": {"decode_tok_s": 80.0},
        "dflash": {"decode_tok_s": 240.0, "tokens_per_round": 5.5},
        **{"ratio": 3.0, "identical": 128, "compared": 128, "replies": []},
    }
    for name, value in changed.items():
        part, _, field = name.rpartition("__")
        (made[part] if part else made)[field] = value
    return made


def test_a_line_has_the_paper_s_result_for_the_same_pair_and_settings() -> None:
    line = ReportLine.of(report())
    assert (line.pair, line.prompts, line.machine) == ("Qwen3-8B-4bit + DFlash", "128 × gsm8k, T 0", "Apple M4 Max, 64 GB")
    assert line.paper == PublishedResult(5.15, 6.54)
    assert ReportLine.of(report(temperature=1.0)).paper == PublishedResult(4.67, 5.98)
    assert ReportLine.of(report(pair__drafter_kind="EAGLE-3")).paper == PublishedResult(1.94, 3.23)
    for changed in ({"temperature": 0.5}, {"thinking": True}, {"set": "alpaca"}, {"pair__drafter_kind": "DFlash 2"}):
        assert ReportLine.of(report(**changed)).paper is None


def test_a_line_says_how_many_computers_ran_the_pair() -> None:
    assert ReportLine.of(report(machine__computers=2)).machine == "Apple M4 Max, 64 GB, and 1 more"


def test_every_set_of_the_paper_is_a_published_set_and_sampling_accepts_less() -> None:
    found = 0
    for target in ("Qwen3-4B", "Qwen3-8B"):
        for kind in ("DFlash", "EAGLE-3"):
            for name in PUBLISHED_SETS:
                greedy, sampled = (published_result(target, kind, name, temperature) for temperature in (0, 1))
                if greedy and sampled:
                    assert greedy.tokens_per_round > sampled.tokens_per_round > greedy.ratio / 2
                    found += 1
    assert found == 20


def test_what_all_reports_have_in_common_is_said_once() -> None:
    lines = [ReportLine.of(report(pair__drafter_kind=kind)) for kind in ("DFlash", "EAGLE-3", "MTP")]
    shown = bench_merge.table(lines)
    assert shown.count("Apple M4 Max") == shown.count("gsm8k") == 1
    rows = [re.split(r"\s{2,}", row) for row in shown.splitlines()[-3:]]
    assert rows[1] == ["Qwen3-8B-4bit + EAGLE-3", "80", "240", "3.00", "1.94", "5.50", "3.23", "128 of 128"]
    assert rows[2][4:] == ["–", "5.50", "–", "128 of 128"]


def test_reports_are_merged_and_merged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{n}.json" for n in range(3)]
    for n, file in enumerate(files):
        file.write_text(json.dumps(report(ratio=n + 1.0, machine__facts=None, machine__device=f"machine {n}")))
    both, all_three = tmp_path / "both.json", tmp_path / "all.json"
    assert main(["bench", "--compare", *map(str, files[:2]), "--out", str(both)]) == 0
    assert main(["bench", "--compare", str(both), str(files[2]), "--out", str(all_three), "--json"]) == 0
    printed = capsys.readouterr().out
    assert [line["machine"] for line in json.loads(printed.splitlines()[-1])["lines"]] == [f"machine {n}" for n in range(3)]
    merged = json.loads(all_three.read_text())["reports"]
    assert merged == [json.loads(file.read_text()) for file in files]


def test_a_measurement_and_a_comparison_have_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, picture = tmp_path / "a.json", tmp_path / "a.svg"
    options = ["--runs", "1", "--limit", "2", "--cool-down", "0", "--widths", "none"]
    assert main(["bench", *options, "--out", str(out), "--picture", str(picture)], ScriptedEngine) == 0
    first = picture.read_text()
    assert "Identical replies: 2 of 2" in first and "3.00 ×" in first
    assert main(["bench", "--compare", str(out), "--picture", str(picture)]) == 0
    assert picture.read_text() == first
    assert json.loads(out.read_text())["pair"]["target"] == "target"
    with pytest.raises(SystemExit):
        main(["bench", "--streams", "1,2", "--picture", str(picture)], ScriptedEngine)
    assert "--picture can't be used with --streams" in capsys.readouterr().err
    (tmp_path / "folder").mkdir()
    assert main(["bench", "--compare", str(out), "--picture", str(tmp_path / "folder")]) == 1
    assert "Can't write to" in capsys.readouterr().err


@given(st.lists(st.tuples(st.text(), st.none() | st.floats(0, 1e5), st.none() | st.floats(0, 1e5)), min_size=1, max_size=6))
def test_pictures_are_valid_whatever_the_reports_say(lines: list[tuple[str, float | None, float | None]]) -> None:
    """Reports come from other people."""
    made = [
        ReportLine.of(report(pair__name=name, plain__decode_tok_s=plain, dflash__decode_tok_s=drafted))
        for name, plain, drafted in lines
    ]
    picture = ET.fromstring(bench_picture.draw(made))
    bars = picture.findall("{*}rect")[1:]
    assert len(bars) == 2 * len(lines)
    assert all(0 <= float(bar.get("width", "")) <= 960 for bar in bars)
    bench_merge.table(made)


@pytest.mark.parametrize(
    "changed", [{"pair": 3}, {"plain": {}}, {"dflash__decode_tok_s": "fast"}, {"prompts": "many"}, {"ratio": math.nan}]
)
def test_reports_with_other_content_are_refused(
    changed: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"reports": [report(), report(**changed)]}))
    assert main(["bench", "--compare", str(file)]) == 1
    assert "isn't a benchmark report" in capsys.readouterr().err
