"""`slipstream bench`: order of requests, statistics, the files it writes, and the comparison of two reports."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli import bench_ratio, bench_results, values
from mlx_engine.cli.bench import BenchPlan, EnergyMeter, measure
from mlx_engine.cli.bench_prompts import PROMPTS, SETS, BenchPrompt
from mlx_engine.cli.bench_report import BenchSettings, order
from mlx_engine.cli.bench_results import DFLASH, PLAIN, BenchMode, MeasuredReply
from mlx_engine.cli.main import main
from mlx_engine.contract.events import CompletedReply
from mlx_engine.contract.requests import Message
from mlx_engine.engine.host import EngineHost
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats


def test_plain_and_dflash_alternate_and_fixed_widths_follow_every_few_prompts() -> None:
    fixed = (BenchMode("dflash", 4), BenchMode("dflash", 8))
    prompts = [BenchPrompt("talk", (Message("user", f"Number {n}"),)) for n in range(6)]
    found = [(index, mode) for index, _, mode in order(prompts, 0, fixed)]
    assert Counter(found) == Counter((index, mode) for index in range(6) for mode in (PLAIN, DFLASH, *fixed))
    heads = [mode for _, mode in found if not mode.width]
    assert heads[:4] == [DFLASH, PLAIN, PLAIN, DFLASH]
    assert [bool(mode.width) for _, mode in found[:16]] == [False] * 8 + [True] * 8
    firsts = [next(mode for at, mode in found if at == index and mode.width) for index in range(6)]
    assert set(firsts) == set(fixed), "no fixed width is always the first"


def test_it_rests_between_runs_and_measures_every_mode() -> None:
    engine, rests = ScriptedEngine(), []
    plan = BenchPlan(PROMPTS[:2], runs=3, settings=BenchSettings(9), widths=(4,), cool_down_s=7.0, rest=rests.append)
    measured = measure(EngineHost(lambda: engine), plan, EnergyMeter(Path("/nowhere")))
    assert measured is not None
    assert rests == [7.0, 7.0]
    assert Counter(each.mode for each in measured) == {PLAIN: 6, DFLASH: 6, BenchMode("dflash", 4): 6}
    assert {request.width for request in engine.requests} == {None, 4}
    assert all(request.max_tokens == 9 and not request.reuse for request in engine.requests)
    assert all(each.joules is None for each in measured)


@given(st.lists(st.integers(2, 16).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, w - 1))), max_size=30))
def test_acceptance_by_position_counts_drafts(rounds: list[tuple[int, int]]) -> None:
    report = replace(stats("dflash"), widths=tuple(w for w, _ in rounds), accepted_per_round=tuple(a for _, a in rounds))
    kept, tested = bench_results.by_position([report])
    for k, (a, b) in enumerate(zip(kept, tested, strict=True)):
        assert a == sum(accepted > k for _, accepted in rounds)
        assert b == sum(width - 1 > k and accepted >= k for width, accepted in rounds)
    assert sum(kept) == sum(accepted for _, accepted in rounds)


def measured(rates: dict[BenchMode, float], runs: int = 3) -> list[MeasuredReply]:
    def reply(mode: BenchMode, run: int) -> CompletedReply:
        report = replace(stats(mode.mode, tokens=101), decode_tok_s=rates[mode] * (1 + run / 100), prompt_tok_s=50.0 + run)
        return CompletedReply("", "", (1, 2), "eos", report)

    return [
        MeasuredReply(run, prompt, mode, reply(mode, run), joules=202.0)
        for run in range(runs)
        for prompt in PROMPTS[:5]
        for mode in rates
    ]


def test_plain_steps_that_a_server_does_not_report_are_in_no_round() -> None:
    found = measured({PLAIN: 100.0, DFLASH: 300.0})
    counts = {"tokens": 101, "rounds": 10, "accepted": 20, "plain_steps": 0}
    found = [replace(each, reply=replace(each.reply, stats=replace(each.stats, **counts))) for each in found]  # type: ignore
    assert bench_results.summarize(found)["dflash"]["tokens_per_round"] == 3.0


def test_medians_quartiles_and_energy() -> None:
    report = bench_results.summarize(measured({PLAIN: 100.0, DFLASH: 300.0, BenchMode("dflash", 8): 200.0}))
    assert report["plain"]["runs_tok_s"] == pytest.approx([100, 101, 102])
    assert report["plain"]["decode_tok_s"] == pytest.approx(101)
    assert report["plain"]["quartiles"]["decode_tok_s"] == pytest.approx([100, 102])
    assert (report["ratio"], report["fixed"]["8"]["ratio"]) == pytest.approx((3.0, 2.0))
    assert report["dflash"]["prompt_tok_s"] == 51.0
    assert report["dflash"]["joules_per_token"] == 2.0
    assert len(report["replies"]) == 30 and len(report["fixed"]["8"]["replies"]) == 15


def test_an_energy_counter_can_wrap(tmp_path: Path) -> None:
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    (package / "max_energy_range_uj").write_text("9999999\n")
    (package / "energy_uj").write_text("9000000\n")
    meter = EnergyMeter(tmp_path)
    (package / "energy_uj").write_text("500000\n")
    assert meter.known and meter.joules() == 1.5
    (package / "energy_uj").unlink()
    assert meter.joules() is None and not meter.known


def test_reports_are_written_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        options = ["--runs", "2", "--limit", "3", "--cool-down", "0", "--out", str(path)]
        assert main(["bench", *options], ScriptedEngine) == 0
    assert "width 4" in capsys.readouterr().out
    report = json.loads(files[0].read_text())
    assert set(report["fixed"]) == {"4", "8"} and report["energy"] in ("unknown", "powercap")
    assert not [path for path in tmp_path.iterdir() if path.name not in ("a.json", "b.json")], "no partial file is left"
    assert main(["bench", "--json", "--compare", *map(str, files)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["differs"] == []
    assert {mode: ratio["value"] for mode, ratio in report["ways"].items()} == pytest.approx(
        {"plain": 1.0, "dflash": 1.0, "width 4": 1.0, "width 8": 1.0}
    )


def test_a_comparison_lists_differing_conditions() -> None:
    def report(name: str, plain: float) -> dict:
        shared = {"name": name, "family": "qwen3", "block_size": 8, "drafter_weights": "float32"}
        machine = {"system": "Linux", "device": "CPU", "blas": "wheel", "threads": 1, "mlx": "1", "mlx_lm": "1"}
        report = bench_results.summarize(measured({PLAIN: plain, DFLASH: 300.0}))
        return {"pair": shared, "machine": machine, "set": "mixed", "max_tokens": 9, **report}

    found = bench_ratio.compare(report("small", 100.0), report("large", 50.0))
    assert found["differs"] == [{"what": "pair: name", "a": "small", "b": "large"}]
    assert found["ways"]["plain"]["value"] == pytest.approx(0.5)
    assert "Different pair: name: small and large" in bench_ratio.table(found)
    earlier, sampled = report("small", 100.0), report("small", 100.0) | {"temperature": 1.0, "thinking": False}
    sampled["machine"]["computers"] = 2
    assert bench_ratio.table(bench_ratio.compare(earlier, sampled)).splitlines()[:2] == [
        "Different machine: computers: 1 and 2",
        "Different temperature: 0.0 and 1.0",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"replies": [{}]}'])
def test_other_files_are_not_compared(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert main(["bench", "--compare", str(path), str(path)]) == 1
    assert "isn't a benchmark report" in capsys.readouterr().err
    assert main(["bench", "--compare", str(tmp_path / "none"), str(path)]) == 1
    assert "Can't read" in capsys.readouterr().err


def test_an_unwritable_file_and_a_width_beyond_the_block_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["bench", "--runs", "1", "--limit", "1", "--out", str(tmp_path / "file" / "a.json")], ScriptedEngine) == 1
    assert "Can't write to" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--widths", "4,9"], ScriptedEngine)
    assert ended.value.code == 2
    assert "exceeds the drafter's block size" in capsys.readouterr().err


def test_prompts_of_a_file_are_measured_without_replies_after_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat = [{"role": role, "content": role} for role in ("system", "user", "assistant", "user", "assistant")]
    file, out, engine = tmp_path / "mine.jsonl", tmp_path / "out.json", ScriptedEngine()
    file.write_text("\n".join(map(json.dumps, ["Why?", {"messages": chat}, {"prompt": "Not measured"}])))
    options = ["--set", str(file), "--limit", "2", "--runs", "1", "--widths", "none", "--out", str(out)]
    assert main(["bench", *options], lambda: engine) == 0
    asked = {tuple(message.content for message in request.messages) for request in engine.requests}
    assert asked == {("Why?",), ("system", "user", "assistant", "user")}
    report = json.loads(out.read_text())
    assert report["set"] == "mine.jsonl" and list(report["kinds"]) == ["mine.jsonl"] and report["prompts"] == 2
    assert [(row["prompt"], row["before"]) for row in report["replies"][::2]] == [("Why?", 0), ("user", 3)]


def test_a_set_that_has_no_prompts_or_does_not_exist_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    assert main(["bench", "--set", str(tmp_path / "empty.txt")], ScriptedEngine) == 1
    assert "has no prompts" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bench", "--set", "hard"], ScriptedEngine)
    names = "mixed, long, general, gsm8k, math500, humaneval, mbpp, mt-bench, alpaca"
    assert f"“hard” is neither one of {names}, nor a file" in capsys.readouterr().err


def test_the_prompt_sets_are_mixed_and_their_roles_alternate() -> None:
    assert tuple(SETS) == values.PROMPT_SETS
    assert len(PROMPTS) == 24 and {prompt.kind for prompt in SETS["general"]} == {"chat", "code", "maths", "copy", "long"}
    for prompts in SETS.values():
        assert len({prompt.messages for prompt in prompts}) == len(prompts)
        assert all(a.kind != b.kind for a, b in pairwise(prompts))
        for prompt in prompts:
            roles = [message.role for message in prompt.messages]
            assert roles == (["user", "assistant"] * len(roles))[: len(roles)] and roles[-1] == "user"
