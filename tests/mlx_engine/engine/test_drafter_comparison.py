"""All drafters of a target, one after the other: results, saved speeds, and the choice of the fastest."""

import json
import shutil
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.cli import compare
from mlx_engine.cli.main import main, parser
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    Commit,
    CompareResult,
    ContestantEvent,
    ContestantResult,
    Event,
    Finished,
    LoadProgress,
    NextReply,
    PairInfo,
)
from mlx_engine.contract.requests import Compare, Contestant, LoadPair, Message, with_drafters
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.turns import ReplyClock, ReplyTurns
from mlx_engine.engine import engine as engine_module
from mlx_engine.engine import local_comparison
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.tally import Tally
from mlx_engine.models.library.installed import auto_drafters, installed_drafters
from mlx_engine.models.library.library import add_folder
from mlx_engine.models.library.speeds import MeasuredSpeeds, record_speeds, speed_key
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.models.test_speeds import stats
from tests.mlx_engine.tiny_families import save, save_drafter, save_mtp

PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)
KINDS = ("DFlash", "DSpark", "MTP")
Pairs = tuple[Path, tuple[Path, ...]]  # the target and its drafters


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """A Qwen3.5 target with a DFlash drafter, a DSpark drafter, and an MTP head."""
    folder = tmp_path_factory.mktemp("drafters")
    target = save("qwen3_5", folder / "target")
    drafters = save_drafter("qwen3_5", folder / "a", 8), save_drafter("qwen3_5", folder / "b", 8, dspark=True)
    return target, (*drafters, save_mtp("qwen3_5", folder / "c"))


@pytest.fixture
def pairs(files: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pairs:
    """The same, with no saved speeds, and costs that need no measurement."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(local_comparison, "calibrate", lambda pair, cancel: iter(()))
    return files


def compared(engine: Engine, pairs: Pairs, **options: object) -> list[Event]:
    asked = (tokens(PROMPT, max_tokens=40, seed=5, ignore_eos=True),)
    tuned = bool(options.pop("tuned", True))
    return list(engine.run(Compare(asked, with_drafters(*pairs, tuned=tuned), **options)))  # type: ignore[arg-type]


def results(events: list[Event]) -> tuple[ContestantResult, ...]:
    assert isinstance(events[-1], CompareResult)
    return events[-1].results


def test_every_drafter_runs_with_the_same_text_and_speeds_are_saved(pairs: Pairs) -> None:
    target, drafters = pairs
    engine = loaded(target, drafters[1])
    events = compared(engine, pairs, repeats=2)
    found = results(events)
    assert [one.proposer for one in found] == ["plain", "lookup", *["drafter"] * 3]
    assert [one.kind for one in found[2:]] == list(KINDS) and [
        one.contestant.pair.drafter for one in found[2:] if one.contestant.pair
    ] == list(drafters)
    assert all(one.verdict == "identical" and one.difference is None and one.tok_s for one in found)
    assert len({one.replies[0].tokens for one in found}) == 1 and [len(one.replies) for one in found] == [1] * 5
    assert [one.bytes > 0 for one in found] == [False, False, True, True, True]
    assert [one.replies[0].stats.drafter_kind for one in found] == ["", "", *KINDS]
    looked_up = found[1].replies[0].stats
    assert not looked_up.drafted or looked_up.rounds == looked_up.lookup_rounds
    runs = [event for event in events if isinstance(event, NextReply)]
    assert [run.index for run in runs] == list(range(10)) and {run.total for run in runs} == {10}
    assert list(dict.fromkeys(run.kind for run in runs)) == ["", "DSpark", "DFlash", "MTP"], "the loaded drafter comes first"
    assert [event.drafter_kind for event in events if isinstance(event, PairInfo)] == ["DFlash", "MTP"]
    assert engine.folders == (target, drafters[2])
    saved = MeasuredSpeeds()
    for drafter, one in zip(drafters, found[2:], strict=True):
        rates = saved.rates(speed_key(target, drafter))["dflash"]
        assert len(rates) == 2 and min(rates) <= one.tok_s <= max(rates)


def test_the_fastest_measured_drafter_is_loaded(pairs: Pairs) -> None:
    target, drafters = pairs
    add_folder(target.parent)
    assert installed_drafters(target, drafters[2]) == drafters and auto_drafters(target)[0] == drafters[0]
    assert installed_drafters(target, drafters[0]) == drafters[:2], "a drafter that is named, too, keeps its place"
    record(target, drafters[0], 40.0)
    record(target, drafters[2], 90.0)
    assert auto_drafters(target)[0] == drafters[0] and auto_drafters(target, drafters[2])[0] == drafters[2]
    engine = Engine()
    *_, info = engine.run(LoadPair(target, drafters[2], auto=True))
    assert isinstance(info, PairInfo) and (info.drafter_kind, info.drafter_folder) == ("MTP", drafters[2])
    shown = reply(engine, tokens(PROMPT, max_tokens=4)).stats
    assert (shown.drafter, shown.drafter_kind) == (drafters[2].name, "MTP")
    assert reply(engine, tokens(PROMPT, max_tokens=4, mode="plain")).stats.drafter == ""


def damage(drafter: Path, folder: Path) -> Path:
    """Copy a drafter without one of its tensors, which only loading notices."""
    shutil.copytree(drafter, folder)
    tensors = mx.load(str(folder / "model.safetensors"))
    assert isinstance(tensors, dict)
    mx.save_safetensors(str(folder / "model.safetensors"), dict(list(tensors.items())[1:]))
    return folder


def test_auto_uses_the_next_best_drafter_if_the_fastest_cannot_be_loaded(pairs: Pairs, tmp_path: Path) -> None:
    target, drafters = pairs
    damaged, foreign = damage(drafters[0], tmp_path / "damaged"), damage(drafters[1], tmp_path / "foreign")
    (foreign / "config.json").write_text("{}")
    for drafter, rate in ((damaged, 90.0), (foreign, 80.0), (drafters[0], 40.0), (drafters[1], 60.0)):
        record(target, drafter, rate)
    for folder in (target.parent, tmp_path / "damaged"):
        add_folder(folder)
    reads: list[LoadProgress] = []
    engine = Engine()
    for event in engine.run(LoadPair(target, damaged, auto=True)):
        reads += [event] if isinstance(event, LoadProgress) and event.step.code == "reading_target" else []
    assert isinstance(event, PairInfo) and event.drafter_folder == drafters[1] == engine.folders[1]
    why = str(event.why_not_fastest)
    assert why.startswith("The drafter “damaged” can't be loaded, so another one is used. ") and "weights lack" in why
    assert len(reads) == 1, "the target is read once"


def test_auto_frees_a_drafter_that_it_leaves_out(pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drafters = pairs
    add_folder(target.parent)
    weights: list[weakref.ref[Any]] = []
    load, alive = engine_module.load, []

    def failing(source: Any, drafter: Path | None, *rest: Any) -> Iterator[Any]:
        alive.append(sum(one() is not None for one in weights))
        if drafter is not None:
            held = np.zeros(1)
            weights.append(weakref.ref(held))
            raise UserError("scripted", "Broken.")
        yield from load(source, drafter, *rest)

    monkeypatch.setattr(engine_module, "load", failing)
    *_, info = Engine().run(LoadPair(target, drafters[0], auto=True))
    assert isinstance(info, PairInfo) and not info.drafter
    assert len(alive) >= 3 and not any(alive)


@pytest.mark.parametrize("kind", ["damaged", "refused"])
def test_auto_decodes_plainly_if_no_drafter_can_be_loaded(pairs: Pairs, tmp_path: Path, kind: str) -> None:
    target, drafters = pairs
    broken = damage(drafters[0], tmp_path / "broken")
    if kind == "refused":
        (broken / "config.json").write_text("{}")
    engine = Engine()
    *_, info = engine.run(LoadPair(target, broken, auto=True))
    assert isinstance(info, PairInfo) and not info.drafter and info.why_plain is not None
    assert str(info.why_not_fastest).startswith("No drafter can be loaded, so DFlash is off. “broken”: ")
    assert reply(engine, tokens(PROMPT, max_tokens=4)).stats.mode == "plain"
    with pytest.raises(UserError):
        list(Engine().run(LoadPair(target, broken)))


def test_a_broken_target_stops_auto_at_once(pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drafters = pairs
    broken, tried = tmp_path / "target", []
    shutil.copytree(target, broken)
    tensors = mx.load(str(broken / "model.safetensors"))
    assert isinstance(tensors, dict)
    name = next(name for name, array in tensors.items() if mx.issubdtype(array.dtype, mx.floating))
    mx.save_safetensors(str(broken / "model.safetensors"), tensors | {name: tensors[name] * float("nan")})
    add_folder(target.parent)
    monkeypatch.setattr(engine_module, "check_loadable", lambda target, drafter: tried.append(drafter))
    with pytest.raises(UserError, match="NaN"):
        list(Engine().run(LoadPair(broken, drafters[0], auto=True)))
    assert tried == [None, drafters[0]]


def test_a_target_is_read_again_only_if_its_files_have_changed(pairs: Pairs, tmp_path: Path) -> None:
    """Rounds with a target that another drafter has used are those with a target that was just read."""
    target, (drafter, other, _) = tmp_path / "target", pairs[1]
    shutil.copytree(pairs[0], target)
    engine = Engine()

    def load(drafter: Path | None) -> bool:
        events = list(engine.run(LoadPair(target, drafter)))
        return any(isinstance(event, LoadProgress) and event.step.code == "reading_target" for event in events)

    def rounds() -> tuple[object, ...]:
        found = reply(engine, tokens(PROMPT, max_tokens=24, width=4, ignore_eos=True))
        return found.tokens, found.stats.accepted_per_round

    assert load(drafter)
    expected = rounds()
    assert not load(other) and rounds()[0] == expected[0]
    assert not load(None) and reply(engine, tokens(PROMPT, max_tokens=24, ignore_eos=True)).tokens == expected[0]
    assert not load(drafter) and rounds() == expected
    tensors = mx.load(str(target / "model.safetensors"))
    assert isinstance(tensors, dict)
    mx.save_safetensors(str(target / "model.safetensors"), tensors)
    assert load(drafter)


def record(target: Path, drafter: Path, rate: float) -> None:
    assert record_speeds(speed_key(target, drafter), [stats(rate)])


def test_a_drafter_without_a_choice_is_kept(pairs: Pairs) -> None:
    target, drafters = pairs
    assert auto_drafters(target, drafters[1]) == (drafters[1],) and not auto_drafters(target)


def test_a_drafter_that_cannot_be_loaded_is_named_and_the_others_run(pairs: Pairs, tmp_path: Path) -> None:
    target, drafters = pairs
    (tmp_path / "empty").mkdir()
    found = results(compared(loaded(target, drafters[0]), (target, (tmp_path / "empty", drafters[0]))))
    assert found[2].problem is not None and found[2].problem.code == "no_config" and not found[2].replies
    assert found[3].kind == "DFlash" and found[3].verdict == "identical"
    with pytest.raises(Exception, match="None of the drafters could be loaded"):
        compared(loaded(target, drafters[0]), (target, (tmp_path / "empty",)))


def test_a_cancel_ends_the_comparison_during_any_step(pairs: Pairs) -> None:
    target, drafters = pairs
    engine = loaded(target, drafters[0])
    for kind in (NextReply, Finished, ContestantResult, LoadProgress):
        cancel, seen = threading.Event(), []
        request = Compare((tokens(PROMPT, max_tokens=8, seed=5),), with_drafters(target, (drafters[0], drafters[2])))
        request = replace(request, pause_s=60.0 if kind is Finished else 0.0)  # a cancel ends the pause
        for event in engine.run(request, cancel):
            seen.append(event)
            if isinstance(event.event if isinstance(event, ContestantEvent) else event, kind):
                cancel.set()
        assert not any(isinstance(event, CompareResult) for event in seen), kind
        engine = loaded(target, drafters[0])


def test_an_invalid_request_fails_and_an_impossible_width_is_a_drafters_own_problem(pairs: Pairs, tmp_path: Path) -> None:
    target, drafters = pairs
    engine = loaded(target, drafters[0])
    with pytest.raises(UserError, match="empty"):
        list(engine.run(Compare((tokens((), max_tokens=4),), with_drafters(target, drafters[:1]))))
    small = save_drafter("qwen3_5", tmp_path / "small", 4)
    request = Compare((tokens(PROMPT, max_tokens=8, width=6),), with_drafters(target, (drafters[0], small)))
    found = results(list(engine.run(request)))
    assert found[2].problem is None and found[3].problem is not None and "6" in str(found[3].problem)


def test_each_drafter_is_loaded_once_for_all_prompts(pairs: Pairs) -> None:
    """A prompt that can't be answered is left out."""
    target, (drafter, other, _) = pairs
    prompts = PROMPT, PROMPT[::-1], (), PROMPT[3:]
    requests = tuple(tokens(prompt, max_tokens=24, ignore_eos=True, width=None) for prompt in prompts)
    events = list(loaded(target, drafter).run(Compare(requests, with_drafters(target, (drafter, other)))))
    assert [event.drafter_kind for event in events if isinstance(event, PairInfo)] == ["DSpark"]
    found = results(events)
    assert isinstance(events[-1], CompareResult)
    assert [index for index, _ in events[-1].left_out] == [2] and "empty" in str(events[-1].left_out[0][1])
    for one in found:
        assert (one.identical, one.difference, len(one.replies)) == (3, None, 3)
        assert [reply.tokens for reply in one.replies] == [reply.tokens for reply in found[0].replies]
        stats = [reply.stats for reply in one.replies]
        assert one.tok_s == pytest.approx(3 * 23 / sum(23 / each.decode_tok_s for each in stats if each.decode_tok_s))
        rounds = sum(each.rounds for each in stats)
        kept = sum(each.tokens - 1 - each.plain_steps for each in stats if each.rounds)
        assert one.tokens_per_round == (pytest.approx(kept / rounds) if rounds else None)
    assert len({reply.stats.seed for reply in found[0].replies}) == 3
    assert [reply.stats.seed for reply in found[2].replies] == [reply.stats.seed for reply in found[0].replies]


def test_texts_that_differ_are_counted_and_the_worst_is_shown(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drafters = pairs
    engine, steps = loaded(target, drafters[0]), Engine.steps

    def other(event: Event) -> Event:
        return replace(event, tokens=tuple((token + 1) % 64 for token in event.tokens)) if isinstance(event, Commit) else event

    def altered(self: Engine, request: Any, *given: Any) -> Iterator[list[Event]]:
        """Answers the second prompt otherwise in rounds."""
        kept = request.mode == "plain" or request.prompt_tokens != PROMPT[::-1]
        yield from ([event if kept else other(event) for event in events] for events in steps(self, request, *given))

    monkeypatch.setattr(Engine, "steps", altered)
    requests = tuple(tokens(prompt, max_tokens=6, seed=5, ignore_eos=True) for prompt in (PROMPT, PROMPT[::-1], PROMPT[2:]))
    *_, plain, _, drafted = results([*engine.run(Compare(requests, with_drafters(target, drafters[:1])))])
    assert (plain.identical, drafted.identical) == (3, 2) and drafted.difference is not None
    assert (drafted.difference.prompt, drafted.difference.at) == (1, 0)
    shown = compare.table(CompareResult((plain, drafted)))[2]
    assert f"identical 2 of 3, {'rounding' if drafted.verdict == 'tie' else 'differs'} at token 1 of prompt 2" in shown
    left_out = (0, EngineText("", "Too long.")), (3, EngineText("", "Too long."))
    assert "of prompt 3" in compare.table(CompareResult((plain, drafted), left_out))[2], "as in the file"


def test_a_tuned_pair_is_loaded_again_without_lora_weights(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drafters = pairs
    engine, asked = loaded(target, drafters[0]), []
    load = Engine.load

    def recorded(*given: Any) -> Iterator[LoadProgress | PairInfo]:
        asked.append((given[2], given[4]))
        return load(*given)

    monkeypatch.setattr(Engine, "load", recorded)
    compared(engine, (target, drafters[:1]))
    engine.pair.info = replace(engine.pair.info, tuned=True)
    compared(engine, (target, drafters[:1]))
    assert asked == []
    compared(engine, (target, drafters[:2]), tuned=False)
    assert asked == [(drafters[0], False), (drafters[1], False)]


def test_copies_are_counted_apart() -> None:
    tally = Tally(ReplyClock(ReplyTurns()), "dflash", 1, None, False)
    for who, *counts in (("target", 0, 0, 0, 0), ("drafter", 7, 4, 0, 0), ("lookup", 5, 5, 5, 5), ("drafter", 9, 8, 2, 1)):
        tally.add(Step((3,), (who,), 8, counts[0], *counts[:2], who, None, False, *counts[2:]), 1, 0.1)
    found = tally.stats()
    assert (found.tested, found.accepted) == (21, 17)
    assert (found.lookup_rounds, found.lookup_tested, found.lookup_accepted) == (1, 7, 6)


def test_a_lookup_reply_uses_no_drafts(pairs: Pairs) -> None:
    """The text repeats, so that lookup has something to copy."""
    target, drafters = pairs
    engine = loaded(target, drafters[0])
    prompt = PROMPT * 6
    plain = reply(engine, tokens(prompt, max_tokens=60, mode="plain", ignore_eos=True))
    looked_up = reply(engine, tokens(prompt, max_tokens=60, lookup_only=True, ignore_eos=True))
    assert looked_up.tokens == plain.tokens
    assert looked_up.stats.rounds == looked_up.stats.lookup_rounds and looked_up.stats.drafter_kind == ""
    again = reply(engine, tokens(prompt, max_tokens=60, lookup_only=True, ignore_eos=True, reuse=True))
    drafted = reply(engine, tokens(prompt, max_tokens=60, ignore_eos=True, reuse=True))
    assert again.tokens == drafted.tokens == plain.tokens


class TestCommand:
    """`slipstream compare --drafters`, and `--drafter auto`."""

    @pytest.fixture
    def words(self, pairs: Pairs, tmp_path: Path) -> Iterator[list[str]]:
        add_folder(pairs[0].parent)
        (tmp_path / "ids.json").write_text(json.dumps(PROMPT))
        yield ["--tokens", str(tmp_path / "ids.json"), "--max-tokens", "12", "--target", str(pairs[0])]

    def test_all_drafters_are_compared(self, words: list[str], pairs: Pairs, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", *words, "--drafter", str(pairs[1][2]), "--drafters", "all"]) == 0
        shown = capsys.readouterr().out
        assert "── lookup (2 of 5)" in shown and "── MTP (5 of 5)" in shown
        assert [line.split()[0] for line in shown.splitlines() if "GB  identical" in line] == list(KINDS)
        assert "the fastest on this prompt" in shown

    def test_json_has_the_documented_shape(self, words: list[str], pairs: Pairs, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", *words, "--drafter", str(pairs[1][2]), "--drafters", "mtp, B", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert [(row["proposer"], row["kind"]) for row in report["results"]] == [
            ("plain", ""),
            ("lookup", ""),
            ("drafter", "MTP"),
            ("drafter", "DSpark"),
        ]
        row = report["results"][2]
        assert set(row) == {"proposer", "kind", "drafter", "bytes", "tok_s", "tokens_per_round", "identical", "reply"}
        assert row["identical"] and row["reply"]["stats"]["drafter_kind"] == "MTP" and report["fastest"] in range(4)

    def test_several_prompts_give_one_table(
        self, words: list[str], pairs: Pairs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        requests = tuple(tokens(prompt, max_tokens=4) for prompt in (PROMPT, PROMPT[::-1]))
        monkeypatch.setattr(compare, "_requests", lambda given: requests)
        words = ["compare", "--chats", "--target", str(pairs[0]), "--drafters", "dflash"]
        assert main(words) == 0
        shown = capsys.readouterr().out
        assert "──" not in shown and shown.count("identical 2 of 2") == 2 and "on these 2 prompts" in shown
        assert main([*words, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert [len(row["replies"]) for row in report["results"]] == [2, 2, 2]
        assert [row["identical_replies"] for row in report["results"]] == [2, 2, 2] and "reply" not in report["results"][0]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--prompts", "FILE"], "need --drafters"),
            (["--chats"], "need --drafters"),
            (["Hi", "--chats", "--drafters", "all"], "can't be used with another prompt"),
            (["--drafters", "all"], "with --drafters, --prompts FILE or --chats"),
            ([], "with --drafters, --prompts FILE or --chats"),
        ],
    )
    def test_conflicts_between_prompts_are_usage_errors(
        self, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "prompts.txt").write_text("One\n")
        options = [str(tmp_path / "prompts.txt") if option == "FILE" else option for option in options]
        with pytest.raises(SystemExit) as stop:
            main(["compare", *options, "--target", str(tmp_path), "--drafter", str(tmp_path)])
        assert stop.value.code == 2 and message in capsys.readouterr().err

    def test_prompts_keep_the_messages_before_them(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        first, second = Message("user", "One"), Message("user", "Two")
        chats = [(first,), (Message("system", "S"), first, Message("assistant", "Yes"), second)]
        monkeypatch.setattr(compare, "saved_prompts", lambda: chats)
        given = parser().parse_args(["compare", "--chats", "--drafters", "all", "--system", "Be brief."])
        asked = compare._requests(given)
        assert [one.messages for one in asked] == [(Message("system", "Be brief."), first), chats[1]]
        (tmp_path / "prompts.txt").write_text("Zero\nTwo\n\nTwo\nOne\n")
        options = ["--prompts", str(tmp_path / "prompts.txt"), "--most", "2"]
        asked = compare._requests(parser().parse_args(["compare", *options, "--drafters", "all"]))
        assert [one.messages for one in asked] == [(second,), (first,)]
        chats.append((first, Message("assistant", "Yes")))  # a reply that tuning would learn
        asked = compare._requests(given)
        assert [one.messages for one in asked] == [(Message("system", "Be brief."), first), chats[1]]
        monkeypatch.setattr(compare, "saved_prompts", list)
        with pytest.raises(UserError, match="No prompts were found"):
            compare._requests(given)

    def test_the_option_untuned_reaches_the_comparison(self, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Compare] = []
        shown = CompareResult((ContestantResult(Contestant("plain")), ContestantResult(Contestant("drafter", LoadPair()))))
        monkeypatch.setattr(compare, "cancellable", lambda client, request: asked.append(request) or iter((shown,)))
        assert main(["compare", *words, "--drafters", "all"]) == main(["compare", *words, "--drafters", "all", "--untuned"]) == 0
        assert [[pair.tuned for pair in one.pairs] for one in asked] == [[True] * 2, [False] * 2]

    def test_an_unfinished_reply_ends_its_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Before the next drafter's heading, and before an error."""

        def events() -> Iterator[Event]:
            for index, kind in enumerate(("MTP", "DSpark")):
                yield NextReply(Contestant("drafter", LoadPair()), index, 2, kind)
                text = Commit("Once", "answer", (1,), ("target",), (("target", 4),))
                yield ContestantEvent(Contestant("drafter", LoadPair()), text)
            raise UserError("scripted", "The memory ran out.")

        with pytest.raises(UserError):
            compare.show(events(), printing=True)
        assert capsys.readouterr().out == "── MTP (1 of 2)\nOnce\n── DSpark (2 of 2)\nOnce\n"

    def test_a_failed_lookup_is_named(self) -> None:
        failed = ContestantResult(Contestant("lookup", LoadPair()), problem=EngineText("", "No memory."))
        assert "lookup: No memory." in compare.table(CompareResult((ContestantResult(Contestant("plain")), failed)))

    def test_unknown_names_are_refused(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", *words, "--drafters", "eagle-3"]) == 1
        assert "“eagle-3”. Choose from: a, b." in capsys.readouterr().err

    def test_auto_uses_the_fastest_drafter(self, words: list[str], pairs: Pairs, capsys: pytest.CaptureFixture[str]) -> None:
        record(pairs[0], pairs[1][1], 77.0)
        assert main(["generate", *words, "--drafter", "auto", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["stats"]["drafter_kind"] == "DSpark"

    def test_auto_names_the_drafter_that_it_leaves_out(
        self, words: list[str], pairs: Pairs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        target = tmp_path / "alone" / "target"
        shutil.copytree(pairs[0], target)
        damage(pairs[1][0], tmp_path / "alone" / "broken")
        add_folder(tmp_path / "alone")
        words[-1] = str(target)
        record(target, tmp_path / "alone" / "broken", 90.0)
        assert main(["generate", *words, "--drafter", "auto", "--json"]) == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["stats"]["drafter_kind"] == "DFlash"
        assert shown.err.count("The drafter “broken” can't be loaded, so another one is used.") == 1

    def test_a_command_that_needs_a_drafter_stops_without_one(
        self, pairs: Pairs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        target = tmp_path / "alone" / "target"
        shutil.copytree(pairs[0], target)
        damage(pairs[1][0], tmp_path / "alone" / "broken")
        add_folder(tmp_path / "alone")
        assert main(["compare", "Hi", "--target", str(target), "--drafter", "auto", "--max-tokens", "4"]) == 1
        assert "No drafter can be loaded, so DFlash is off. “broken”: " in capsys.readouterr().err

    def test_without_drafters_there_is_nothing_to_choose(
        self, pairs: Pairs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "ids.json").write_text(json.dumps(PROMPT))
        words = ["--tokens", str(tmp_path / "ids.json"), "--target", str(pairs[0])]
        assert main(["generate", *words, "--drafter", "auto"]) == 1 and main(["compare", *words, "--drafters", "all"]) == 1
        shown = capsys.readouterr().err
        assert shown.count("No drafter for") == 2 and shown.count("Download one") == 2
