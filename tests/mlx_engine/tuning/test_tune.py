"""Tuning: what is learned and kept, and that it can be stopped and continued."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Round, Tuned, WorkProgress
from mlx_engine.contract.limits import FEWEST_PROMPTS
from mlx_engine.contract.requests import AttachedImage, ForgetPrompts, GenerationRequest, Message, Sampling, TuneDrafter
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.registry import parse
from mlx_engine.engine.engine import Engine
from mlx_engine.models.files import tuning_files
from mlx_engine.models.files.tuning_files import read_record
from mlx_engine.tuning import fresh, training_loop, tuner
from mlx_engine.tuning import recorded_replies as replies
from mlx_engine.tuning.block_loss import DECAY
from tests.mlx_engine.conftest import GOLDEN

PROMPTS = tuple((Message("user", f"t{i + 1} t7 t{i + 30}"),) for i in range(FEWEST_PROMPTS))
GENERAL = tuple((Message("user", f"t{i + 70} t9"),) for i in range(4))
REQUEST = TuneDrafter(PROMPTS, GENERAL, epochs=1, max_tokens=6)
REPLIES, STEPS = len(PROMPTS) + len(GENERAL), 4  # of a run; each yields one event


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tuning_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(tuner, "_TUNING", replace(tuner._TUNING, replies=2, anchors=4))
    monkeypatch.setattr(tuner, "_STRENGTHS", (1.0, 0.5))
    monkeypatch.setattr(tuner, "_FROM_SCRATCH", replace(tuner._FROM_SCRATCH, replies=4, anchors=4))
    return tmp_path / "cache" / "tuning"


def copied(name: str, to: Path) -> Path:
    """Copy a reference pair, whose tokenizer gets a chat template."""
    shutil.copytree(GOLDEN / name, to)
    settings = json.loads((to / "target" / "tokenizer_config.json").read_text())
    settings["chat_template"] = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    (to / "target" / "tokenizer_config.json").write_text(json.dumps(settings))
    return to


@pytest.fixture
def folders(tmp_path) -> tuple[Path, Path]:
    pair = copied("e2e_qwen3", tmp_path / "pair")
    return pair / "target", pair / "drafter"


@pytest.fixture
def engine(folders) -> Engine:
    made = Engine()
    list(made.load(*folders))
    return made


def run(engine: Engine, request: TuneDrafter, stop_after: int | None = None) -> list[Event]:
    """Run a request, canceled after this number of events."""
    cancel, seen = threading.Event(), list[Event]()
    for event in engine.run(request, cancel):
        seen.append(event)
        if len(seen) == stop_after:
            cancel.set()
    return seen


def test_progress_rises_to_a_result_that_is_loaded_next(engine, folders, cache, monkeypatch):
    compared = list[tuple[float, ...]]()
    monkeypatch.setattr(tuner, "is_better", lambda *speeds: (compared.append(speeds), True)[1])
    *progress, result = run(engine, REQUEST)
    assert all(isinstance(event, WorkProgress) for event in progress) and isinstance(result, Tuned)
    fractions = [event.fraction for event in progress]
    assert fractions == sorted(fractions) and fractions[0] == 0 and fractions[-1] < 1
    assert sum(event.step.code == "tuning_step" for event in progress) == STEPS
    assert result.replies == len(PROMPTS) and result.before >= 1 and result.general_before >= 1
    assert list(cache.iterdir()) == []
    assert list(folders[1].glob("tuned-*")) == [Path(result.file)]
    record, measured = read_record(Path(result.file)), (result.before, result.after, result.general_before, result.general_after)
    assert (record.before, record.after, record.general_before, record.general_after) == measured == compared[-1]
    assert list(engine.load(*folders))[-1].tuned
    with pytest.raises(UserError, match="is tuned"):
        run(engine, REQUEST)


def test_a_slower_drafter_is_not_kept_and_a_late_cancel_changes_nothing(engine, folders, cache, monkeypatch):
    monkeypatch.setattr(tuner, "is_better", lambda *_: False)
    cancel = threading.Event()
    for result in engine.run(REQUEST, cancel):
        if isinstance(result, Tuned):
            cancel.set()
    assert isinstance(result, Tuned) and not result.kept and result.file == ""
    assert not list(folders[1].glob("tuned-*")) and list(cache.iterdir()) == []


@given(st.floats(1, 16), st.floats(1, 16), st.floats(1, 16), st.floats(1, 16))
def test_it_is_kept_if_it_rises_on_own_prompts_and_falls_by_at_most_1_percent_on_general_ones(
    before, after, general, general_after
):
    kept = tuner.is_better(before, after, general, general_after)
    assert kept == (after > before and general_after >= 0.99 * general)
    assert tuner.is_better(before, before + 1, 0.0, 0.0)  # no general prompts
    assert not kept or tuner.is_better(before, after + 1, general, general_after + 1)


class Drawing(training_loop.Trainer):
    """Draws the replies of many steps, and learns nothing."""

    def run(self, draw):
        for step in range(60):
            draw(step, np.random.default_rng(step))
        return iter(())


@pytest.fixture
def seen(monkeypatch) -> tuple[set[Path], set[Path], set[Path]]:
    """The files of the replies that are learned, that choose the strength, and that measure the result."""
    learned, chosen, measured = set[Path](), set[Path](), set[Path]()
    count = tuner.rounds
    monkeypatch.setattr(tuner, "Trainer", Drawing)
    monkeypatch.setattr(training_loop, "batches", lambda found, *rest: learned.update(each.file for each in found))
    monkeypatch.setattr(tuner, "rounds", lambda drafter, reply, *rest: (measured.add(reply.file), count(drafter, reply, *rest))[1])
    monkeypatch.setattr(tuner, "best_strength", lambda *_: (chosen.update(measured), measured.clear(), 0.7)[2])
    return learned, chosen, measured


def test_replies_are_learned_choose_the_strength_or_are_held_out(engine, seen):
    run(engine, replace(REQUEST, prompts=PROMPTS + PROMPTS[:6]))  # repeated prompts count once
    assert list(map(len, seen)) == [8, 2, 4] and len(set.union(*seen)) == REPLIES


speeds = st.floats(1, 16)


@given(st.dictionaries(st.sampled_from(tuner._STRENGTHS), st.tuples(speeds, speeds), min_size=1), speeds)
def test_the_strength_is_the_fastest_that_does_not_slow_down_general_prompts(found, least):
    strength = tuner.best_strength(found, least)
    unharmed = [each for each in found if found[each][1] >= least]
    if unharmed:
        assert strength in unharmed and all(found[strength][0] >= found[each][0] for each in unharmed)
    else:
        assert strength == min(found)


def test_lora_weights_are_saved_at_their_strength(engine, folders, monkeypatch):
    monkeypatch.setattr(tuner, "is_better", lambda *_: True)
    found = []
    for strength in (1.0, 0.4):
        monkeypatch.setattr(tuner, "best_strength", lambda *_, strength=strength: strength)
        result = run(engine, TuneDrafter(PROMPTS[:10], epochs=0.5, max_tokens=6))[-1]
        found.append(mx.load(result.file))
        assert mx.any(found[-1]["fc.lora_b"] != 0).item()
    for name, array in found[0].items():
        assert mx.allclose(found[1][name], array * (0.4 if name.endswith("_b") else 1.0)), name


@pytest.mark.parametrize(
    "stop_after",
    [
        REPLIES + STEPS // 2,
        *(pytest.param(each, marks=pytest.mark.long) for each in (1, REPLIES // 2, REPLIES + STEPS, REPLIES + STEPS + 2)),
    ],
)
def test_a_canceled_run_continues_and_ends_the_same(engine, folders, cache, monkeypatch, stop_after):
    monkeypatch.setattr(tuner, "is_better", lambda *_: True)
    whole = run(engine, REQUEST)
    expected = mx.load(whole[-1].file)
    mx.eval(expected)
    started = run(engine, REQUEST, stop_after)
    assert len(started) == stop_after and not isinstance(started[-1], Tuned)
    assert len(list(cache.iterdir())) == 1
    generated = list[GenerationRequest]()
    original = engine.generate
    monkeypatch.setattr(engine, "generate", lambda request, cancel: (generated.append(request), original(request, cancel))[1])
    result = run(engine, REQUEST)[-1]
    assert len(generated) == max(0, REPLIES - stop_after + 1)
    assert replace(result, file="") == replace(whole[-1], file="")
    found = mx.load(result.file)
    assert all(mx.array_equal(found[name], expected[name]) for name in expected)


def test_a_chat_is_held_out_as_a_whole(engine, seen):
    chats = [(one[0], Message("assistant", "t3"), Message("user", f"t{turn + 50}")) for one in PROMPTS[:5] for turn in range(3)]
    run(engine, TuneDrafter((*PROMPTS[:5], *chats), max_tokens=6))
    assert list(map(len, seen)) == [8, 4, 8] and len(set.union(*seen)) == 20  # two of five chats are held out, one chooses


def test_prompts_of_one_chat_are_refused(engine):
    chat = tuple((PROMPTS[0][0], Message("assistant", "t3"), Message("user", f"t{turn + 50}")) for turn in range(12))
    with pytest.raises(UserError, match="from one chat"):
        run(engine, TuneDrafter(chat))


def test_another_request_discards_an_unfinished_run(engine, cache):
    run(engine, REQUEST, 5)
    first = set(cache.glob("*/*.safetensors"))
    run(engine, replace(REQUEST, seed=2), 5)
    second = set(cache.glob("*/*.safetensors"))
    assert len(first) == len(second) == 4 and not first & second


def test_a_new_prompt_keeps_the_replies_to_the_others(engine, cache):
    run(engine, REQUEST, REPLIES + 2)
    first = {file: file.stat().st_mtime_ns for file in cache.glob("*/*.safetensors") if not file.name.startswith("state")}
    assert len(first) == REPLIES
    more = replace(REQUEST, prompts=(*PROMPTS[1:], (Message("user", "t3 t3"),)), epochs=3)
    run(engine, more, REPLIES + 2)
    second = {file: file.stat().st_mtime_ns for file in cache.glob("*/*.safetensors")}
    assert len(first.keys() - second.keys()) == 1
    assert all(first[file] == second[file] for file in first.keys() & second.keys())


def test_a_run_in_progress_is_left_alone(engine, cache):
    running = engine.run(REQUEST, threading.Event())
    for _ in range(3):
        next(running)
    tuning_files.delete_runs()
    assert len(list(cache.glob("*/*.safetensors"))) == 2
    with pytest.raises(UserError, match="already being tuned"):
        run(engine, REQUEST)
    running.close()
    list(engine.run(ForgetPrompts(runs=False), threading.Event()))
    assert len(list(cache.glob("*/*.safetensors"))) == 2
    list(engine.run(ForgetPrompts(), threading.Event()))
    assert list(cache.iterdir()) == []


def test_the_reason_is_shown_if_no_prompt_can_be_used(folders):
    settings = json.loads((folders[0] / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (folders[0] / "tokenizer_config.json").write_text(json.dumps(settings))
    plain = Engine()
    list(plain.load(*folders))
    with pytest.raises(UserError, match="no chat template"):
        run(plain, REQUEST)


@pytest.mark.parametrize("replies", [4, 16])
@pytest.mark.parametrize("block", [4, 16, 32])
@pytest.mark.parametrize("vocabulary", [2048, 151_936, 262_144])
def test_the_logits_of_a_step_are_bounded(replies, block, vocabulary):
    config = parse(json.loads((GOLDEN / "e2e_qwen3" / "drafter" / "config.json").read_text()))
    plan = replace(tuner._FROM_SCRATCH, replies=replies, anchors=20)
    plan = training_loop.fitting(plan, replace(config, block_size=block, vocab_size=vocabulary))
    assert plan.replies >= 2 and plan.anchors >= 1
    assert plan.replies * plan.anchors * block * vocabulary <= 64_000_000
    assert vocabulary > 2048 or (plan.replies, plan.anchors) == (replies, 20)


def test_damaged_files_of_a_run_are_made_again(engine, cache, monkeypatch):
    monkeypatch.setattr(training_loop, "SAVE_EVERY", 1)
    run(engine, REQUEST, REPLIES + STEPS)
    (folder,) = cache.iterdir()
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:100])
    assert isinstance(run(engine, REQUEST)[-1], Tuned)


def test_a_full_disk_is_an_error_that_keeps_the_replies(engine, cache, monkeypatch):
    run(engine, REQUEST, 5)
    monkeypatch.setattr(tuner, "_FREE", 1e18)
    with pytest.raises(UserError, match="Free up space"):
        run(engine, REQUEST)
    assert len(list(cache.glob("*/*.safetensors"))) == 4


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_replies(engine):
    def peak(count: int) -> int:
        mx.clear_cache()
        mx.reset_peak_memory()
        prompts = tuple((Message("user", f"t{i + 1} t{count}"),) for i in range(count))
        run(engine, TuneDrafter(prompts, epochs=1, max_tokens=48))
        return mx.get_peak_memory()

    assert peak(40) < 1.2 * peak(12)


def test_prompts_with_images_are_refused(engine):
    shown = (replace(PROMPTS[0][0], images=(AttachedImage(0, b"", "chart.png"),)),)
    for request in (TuneDrafter((*PROMPTS, shown)), TuneDrafter(PROMPTS, general=(shown,))):
        with pytest.raises(UserError, match="with images"):
            run(engine, request)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (TuneDrafter(PROMPTS[:9]), "at least 10 different prompts, but there are only 9"),
        (TuneDrafter(PROMPTS[:2] * 20), "there are only 2"),
    ],
)
def test_too_few_prompts_are_refused(engine, request_, why):
    with pytest.raises(UserError, match=why):
        run(engine, request_)


def test_a_target_alone_and_the_bundled_drafter_are_refused(folders, demo):
    plain = Engine()
    list(plain.load(folders[0], None))
    with pytest.raises(UserError, match="no drafter"):
        run(plain, REQUEST)
    with pytest.raises(UserError, match="Copy the pair"):
        run(demo, REQUEST)


def test_weights_fall_along_the_block_and_end_with_the_reply(tmp_path, tiny):
    tokens = [5, 6, 7, 8, 9, 10, 2, 11, 12]
    reply = replies.save(tiny.pair, tokens, 3, tmp_path / "reply.safetensors")
    found = replies.batch([reply], 50, 4, frozenset({2}), np.random.default_rng(0))
    assert set(found.anchors.flatten().tolist()) == set(range(3, 8))
    for position, block, weights in zip(
        *(array[0].tolist() for array in (found.anchors, found.blocks, found.weights)), strict=True
    ):
        following = tokens[position + 1 : position + 4]
        assert block[: len(following) + 1] == tokens[position : position + 4]
        counted = following.index(2) + 1 if 2 in following else len(following)
        assert weights == pytest.approx([np.exp(-k / DECAY) if k < counted else 0 for k in range(3)])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_counted_rounds_are_those_of_the_engine(tmp_path, tiny, temperature):
    """At the full width, from a reply's tokens alone."""
    prompt, sampling = (73, 122, 51, 37, 73, 117, 82, 108), Sampling(temperature)
    request = GenerationRequest(
        prompt_tokens=prompt, sampling=sampling, seed=3, width=8, max_tokens=60, ignore_eos=True, reuse=False
    )
    seen = list(tiny.generate(request))
    tokens = [token for event in seen for token in getattr(event, "tokens", ())]
    reply = replies.save(tiny.pair, [*prompt, *tokens], len(prompt), tmp_path / "reply.safetensors")
    pair = tiny.pair
    found = replies.rounds(pair.drafter, reply, Chooser(sampling, 3), pair.target.vocabulary)
    assert found == (59, sum(isinstance(event, Round) for event in seen))


def test_a_float16_pair_trains_in_bfloat16(tmp_path, tiny):
    reply = replies.save(tiny.pair, [5, 6, 7, 8, 9, 10], 2, tmp_path / "reply.safetensors")
    found = replies.batch([reply], 3, 8, frozenset(), np.random.default_rng(0))
    half = tuner._model(replace(tiny.pair, dtype=mx.float16), tiny.pair.drafter, GOLDEN / "e2e_qwen3" / "drafter")
    whole = tuner._model(tiny.pair, tiny.pair.drafter, GOLDEN / "e2e_qwen3" / "drafter")
    assert (half.dtype, whole.dtype) == (mx.bfloat16, mx.float32)
    assert half({}, found).item() == pytest.approx(whole({}, found).item(), rel=0.05)


@pytest.mark.parametrize("name", ["e2e_qwen3", pytest.param("e2e_gpt_oss", marks=pytest.mark.long)])
def test_a_new_drafter_learns_from_scratch(tmp_path, name):
    target, drafter = copied(name, tmp_path / "pair") / "target", tmp_path / "new"
    fresh.create(drafter, target, 1, 2, 4, 0, 1)
    engine = Engine()
    list(engine.load(target, drafter))
    assert len(engine.pair.drafter.config.taps) == 2
    before = (drafter / "model.safetensors").read_bytes()
    result = run(engine, TuneDrafter(PROMPTS, whole=True, epochs=4, max_tokens=12))[-1]
    assert result.kept == (result.after > result.before) == ((drafter / "model.safetensors").read_bytes() != before)
    assert not list(engine.load(target, drafter))[-1].tuned


def test_a_full_disk_leaves_a_new_drafter_as_it_was(tmp_path, monkeypatch):
    target, drafter = copied("e2e_qwen3", tmp_path / "pair") / "target", tmp_path / "new"
    fresh.create(drafter, target, 1, 2, 4, 0, 1)
    before, save = (drafter / "model.safetensors").read_bytes(), mx.save_safetensors
    engine = Engine()
    list(engine.load(target, drafter))

    def full(file: str, *rest: object, **more: object) -> None:
        if Path(file).parent == drafter:
            Path(file).write_bytes(b"part")
            raise RuntimeError("No space left on device")
        save(file, *rest, **more)

    monkeypatch.setattr(tuner, "is_better", lambda *_: True)
    monkeypatch.setattr(mx, "save_safetensors", full)
    with pytest.raises(UserError, match="No space left"):
        run(engine, TuneDrafter(PROMPTS, whole=True, epochs=1, max_tokens=6))
    assert sorted(each.name for each in drafter.iterdir()) == ["config.json", "model.safetensors"]
    assert (drafter / "model.safetensors").read_bytes() == before


def test_a_new_drafter_never_replaces_a_folder(tmp_path):
    target = GOLDEN / "e2e_qwen3" / "target"
    fresh.create(tmp_path / "new", target, 1, 2, 4, 0, 1)
    for folder, layers in ((tmp_path, 1), (GOLDEN / "e2e_qwen3" / "drafter", 1), (tmp_path / "new", 2)):
        with pytest.raises(UserError, match="already contains"):
            fresh.create(folder, target, layers, 2, 4, 0, 1)


def test_a_new_drafter_is_whole_or_missing(tmp_path, monkeypatch):
    def interrupted(file: str, *_: object, **__: object) -> None:
        Path(file).write_bytes(b"part")
        raise KeyboardInterrupt

    monkeypatch.setattr(mx, "save_safetensors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fresh.create(tmp_path / "new", GOLDEN / "e2e_qwen3" / "target", 1, 2, 4, 0, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{"num_attention_heads": 0, "head_dim": None}, {"hidden_size": "x"}, {"model_type": "gpt2"}])
def test_targets_without_sizes_or_dflash_get_no_drafter(tmp_path, change):
    target = copied("e2e_qwen3", tmp_path / "pair") / "target"
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(UserError):
        fresh.create(tmp_path / "new", target, 1, 2, 4, 0, 1)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("parameters", "theta"),
    [("x", 10000.0), ({"rope_theta": 5.0}, 5.0), ({"full_attention": {"rope_theta": 7.0}, "sliding_attention": {}}, 7.0)],
)
def test_rope_and_mask_token_come_from_the_text_model(tmp_path, parameters, theta):
    target = copied("e2e_qwen3", tmp_path / "pair") / "target"
    config = json.loads((target / "config.json").read_text())
    config.pop("rope_theta", None)
    text = {"vocab_size": config.pop("vocab_size"), "rope_parameters": parameters}
    (target / "config.json").write_text(json.dumps(config | {"text_config": text}))
    fresh.create(tmp_path / "new", target, 1, 2, 4, None, 1)
    found = json.loads((tmp_path / "new" / "config.json").read_text())
    assert found["rope_theta"] == theta and found["dflash_config"]["mask_token_id"] == text["vocab_size"] - 1
