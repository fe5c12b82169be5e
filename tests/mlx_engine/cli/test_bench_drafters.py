"""`slipstream bench --drafters`: several drafters of one target, each next to plain decoding."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlx_engine.cli import session
from mlx_engine.cli.main import main
from mlx_engine.contract.events import LoadProgress, PairInfo
from mlx_engine.contract.requests import Mode
from mlx_engine.models.library.pair import demo_pair
from tests.mlx_engine.scripted_engine import ScriptedEngine

OPTIONS = ("--set", "mixed", "--limit", "3", "--runs", "2", "--cool-down", "0")
TARGET, DFLASH = demo_pair()


class Loading(ScriptedEngine):
    """Notes which drafters are loaded, and the modes of the replies after each."""

    def __init__(self, *pieces: tuple[str, str]) -> None:
        super().__init__(pieces or (("answer", "Hello"),))
        self.modes: dict[str, list[Mode]] = {}

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        assert target == TARGET and drafter is not None
        before = len(self.requests)
        yield from super().load(target, drafter, drafter_bits)
        assert len(self.requests) == before
        self.modes[drafter.name] = []

    def generate(self, request, cancel=None):
        list(self.modes.values())[-1].append(request.mode)
        return super().generate(request, cancel)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three drafters of the demo pair's target."""
    drafters = [tmp_path / "first", tmp_path / "second", DFLASH]
    for drafter in drafters[:2]:
        drafter.mkdir()
        (drafter / "config.json").write_text((DFLASH / "config.json").read_text())
    monkeypatch.setattr(session, "installed_drafters", lambda target, *others: tuple(drafters))


def test_each_drafter_is_measured_next_to_plain_decoding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine, out, picture = Loading(), tmp_path / "all.json", tmp_path / "all.svg"
    files = ["--out", str(out), "--picture", str(picture)]
    assert main(["bench", *OPTIONS, "--drafters", "all", *files], lambda: engine) == 0
    assert list(engine.modes) == ["first", "second", DFLASH.name]
    for modes in engine.modes.values():
        assert modes.count("plain") == modes.count("dflash") == 1 + 2 * 3, "after one prompt that warms up; no fixed widths"
    reports = json.loads(out.read_text())["reports"]
    assert len(reports) == 3 and all(report["prompts"] == 3 and report["runs"] == 2 for report in reports)
    assert capsys.readouterr().out.count("6 of 6") == 3 and picture.read_text().count("drafted ") == 3
    assert main(["bench", "--compare", str(out)]) == 0, "the file can be merged with others"


def test_one_is_chosen_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    engine = Loading()
    assert main(["bench", *OPTIONS, "--drafters", "second", "--json"], lambda: engine) == 0
    assert list(engine.modes) == ["second"] and len(json.loads(capsys.readouterr().out)["reports"]) == 1
    assert main(["bench", *OPTIONS, "--drafters", "eagle-3"], lambda: engine) == 1
    assert "No installed drafter is called “eagle-3”" in capsys.readouterr().err


def test_what_was_measured_before_ctrl_c_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Stopped(Loading):
        def generate(self, request, cancel=None):
            if len(self.modes) == 2:
                self._pieces = (("answer", "Ctrl-C"), ("answer", "more"))
            return super().generate(request, cancel)

    engine, out = Stopped(), tmp_path / "all.json"
    assert main(["bench", *OPTIONS, "--drafters", "all", "--out", str(out)], lambda: engine) == 130
    assert list(engine.modes) == ["first", "second"] and len(json.loads(out.read_text())["reports"]) == 1
    shown = capsys.readouterr()
    assert "6 of 6" in shown.out and "1 of 3 drafters" in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--widths", "4"], "can't be used with --drafters"),
        (["--streams", "2"], "not allowed with"),
        (["--remote", "http://127.0.0.1:1"], "--remote can't be used with --drafters"),
    ],
)
def test_options_in_conflict(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--drafters", "all", *options], Loading)
    assert message in capsys.readouterr().err
