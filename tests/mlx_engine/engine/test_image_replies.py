"""Replies to images: the reference texts, the same text with every drafter, reuse, errors, several replies."""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.contract.events import CompletedReply, ContestantResult, Event, Finished, PairInfo
from mlx_engine.contract.machine_events import ReliefStep
from mlx_engine.contract.requests import (
    AttachedImage,
    Compare,
    CountTokens,
    GenerationRequest,
    LoadPair,
    Message,
    Sampling,
    ToolCall,
    ToolSpec,
)
from mlx_engine.contract.whole_replies import fold
from mlx_engine.decoding.costs import PassCosts
from mlx_engine.decoding.turns import ReplyClock
from mlx_engine.engine import generation
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.engine.local_comparison import difference
from mlx_engine.formats import chat_prompt
from mlx_engine.hardware.ledger import MemoryLedger
from mlx_engine.loading import image_reader
from mlx_engine.prefix.snapshots import Snapshots
from mlx_engine.vision import tower_weights
from mlx_engine.vision.spans import ImageSpan
from mlx_engine.vision.tower import Tower
from tests.mlx_engine.asking import failure, reply, tokens
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.engine.failing_kernels import VICTIM
from tests.mlx_engine.engine.seeing import FAMILIES, VISION, asked, described, message, picture, seeing
from tests.mlx_engine.formats.made_tokenizers import QWEN3_TOOLS
from tests.mlx_engine.prefix.prefix_pairs import restart
from tests.mlx_engine.targets.target_passes import before_each_pass

QUICK = ("adjacent_images",)  # cases; the others are long tests
SLOW = ("gemma4_causal",)  # families without a quick case; their mask is the usual one


def is_quick(family: str, case: str) -> bool:
    return case in QUICK and family not in SLOW


def reference_cases() -> list[Any]:
    return [
        pytest.param(family, case, id=f"{family}-{case}", marks=[] if is_quick(family, case) else [pytest.mark.long])
        for family in FAMILIES
        for case in (each["name"] for each in described(family)["cases"])
    ]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    """The reference targets with DFlash drafters, which are loaded when needed."""
    running = list[Any]()

    class Loaded(dict[str, Engine]):
        def __missing__(self, family: str) -> Engine:
            running.append(seeing(family, "dflash", tmp_path_factory.mktemp(family)))
            self[family] = running[-1].__enter__()
            return self[family]

    yield Loaded()
    for each in running:
        each.__exit__(None, None, None)


@pytest.mark.parametrize(("family", "name"), reference_cases())
def test_the_text_and_the_second_turn_are_those_of_the_reference(engines: dict[str, Engine], family: str, name: str) -> None:
    engine = engines[family]
    (case,) = [case for case in described(family)["cases"] if case["name"] == name]
    messages = tuple(message(each["role"], each["content"]) for each in case["messages"])
    first = reply(engine, asked(messages, width=8))
    assert list(first.tokens) == case["output_ids"]
    assert first.stats.prompt_tokens == len(case["input_ids"])
    reader = engine.pair.images
    assert reader is not None
    reader.forget()
    engine.free_memory()
    assert list(reply(engine, asked(messages, mode="plain")).tokens) == case["output_ids"]
    computed = reader.computed
    second = (*messages, Message("assistant", first.text), message("user", case["turn2"]["added_content"]))
    following = reply(engine, asked(second))
    assert list(following.tokens) == case["turn2"]["output_ids"]
    assert following.stats.reused_tokens >= len(case["input_ids"])
    assert reader.computed - computed == len(set(case["turn2"]["images"][len(case["images"]) :]) - set(case["images"]))


SHOWN = (Message("user", "Read this:now.", images=(picture("photo", 10),)),)


def test_other_pixels_of_the_same_size_are_computed_and_the_same_are_not(engines: dict[str, Engine]) -> None:
    engine = engines["qwen3_5"]
    engine.free_memory()
    reader = engine.pair.images
    assert reader is not None
    replies, before = list[CompletedReply](), reader.computed
    for name, computed in (("photo", 1), ("photo_b", 2), ("photo", 2)):
        chat = (replace(SHOWN[0], images=(replace(picture(name), at=10),)),)
        replies.append(reply(engine, asked(chat, max_tokens=9)))
        assert reader.computed - before == computed
    first, other, again = replies
    assert first.tokens == again.tokens != other.tokens
    assert other.stats.reused_tokens < first.stats.prompt_tokens - 15 < again.stats.reused_tokens


def test_the_rate_of_the_prompt_excludes_the_time_for_images(engines: dict[str, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, now = engines["qwen3_5"], [0.0]
    engine.free_memory()
    monkeypatch.setattr("mlx_engine.decoding.turns.time.perf_counter", lambda: now[0])

    def load_slowly(*of: Any) -> Tower:
        now[0] += 100.0
        return tower_weights.load_tower(*of)

    def take_a_second(_rows: int) -> None:
        now[0] += 1.0

    monkeypatch.setattr(image_reader, "load_tower", load_slowly)
    before_each_pass(engine.pair.target, monkeypatch, take_a_second)
    first, again = (reply(engine, asked(SHOWN, max_tokens=2)).stats for _ in range(2))
    assert first.images == again.images == 1
    assert first.image_tokens == again.image_tokens == described("qwen3_5")["images"]["photo"]["soft_tokens"]
    assert (first.image_s, again.image_s) == (100.0, 0.0)
    assert first.prompt_tok_s == first.prompt_tokens / (first.prefill_s - 100.0)


def test_a_chat_with_images_continues_after_a_restart(engines: dict[str, Engine], tmp_path) -> None:
    for family in ("qwen3_5", "gemma4_bidirectional"):
        engine = engines[family]
        engine.free_memory()
        engine.save_prompts(tmp_path / family)
        first = reply(engine, asked(SHOWN, chat="1"))
        following = asked((*SHOWN, Message("assistant", first.text), Message("user", "Why?")))
        restart(engine, tmp_path / family)
        got = reply(engine, replace(following, chat="1"))
        assert got.stats.disk_tokens >= first.stats.prompt_tokens - 16
        engine.free_memory()
        assert got.tokens == reply(engine, replace(following, reuse=False)).tokens
        engine.forget_prompts(("1",))
        assert not list((tmp_path / family).glob("*.safetensors"))
        engine.save_prompts(None)


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_are_counted_without_decoding(engines: dict[str, Engine], family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_engine.loading.image_reader.pixels", None)
    counted = engines[family].count_tokens(CountTokens(GenerationRequest(SHOWN)))
    (soft,) = [described(family)["images"]["photo"]["soft_tokens"]]
    text = engines[family].count_tokens(CountTokens(GenerationRequest((replace(SHOWN[0], images=()),))))
    assert counted.tokens == text.tokens + soft + 2


def test_the_detail_sets_the_number_of_soft_tokens(engines: dict[str, Engine]) -> None:
    counts = []
    for detail in ("low", "auto", "high"):
        shown = (Message("user", "", images=(replace(picture("wide"), detail=detail),)),)
        counts.append(engines["gemma4_causal"].count_tokens(CountTokens(GenerationRequest(shown))).tokens)
    assert counts[0] <= counts[1] < counts[2]  # this checkpoint's own limit is that of low detail


def test_a_prompt_loads_the_tower_once_though_memory_is_short(engines: dict[str, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, loads = engines["qwen3_5"], list[Any]()
    monkeypatch.setattr(image_reader, "load_tower", lambda *of: loads.append(of) or tower_weights.load_tower(*of))
    shown = (Message("user", "First:then:now.", images=(picture("photo", 6), picture("photo_b", 11))),)
    engine.free_memory()
    expected = reply(engine, asked(shown, reuse=False, max_tokens=9)).tokens
    engine.free_memory()
    loads.clear()
    found = list[Event]()
    for events in engine.steps(asked(shown, reuse=False, max_tokens=9)):
        found += events
        engine.give_back(ReliefStep.BUFFERS)
    assert fold(found).tokens == expected and len(loads) == 1
    reader = engine.pair.images
    assert reader is not None and reader.held == 0, "it is freed after the prompt"


class TestErrors:
    def test_a_damaged_image_is_named(self, engines: dict[str, Engine]) -> None:
        whole = picture("photo")
        for data in (b"no image", whole.data[: len(whole.data) // 2]):
            shown = (Message("user", "a", images=(AttachedImage(0, data, "chart.png"),)),)
            assert "chart.png" in failure(engines["qwen3_5"], asked(shown))

    def test_a_model_of_another_family_names_the_image(self, tiny: Engine) -> None:
        assert "photo.png" in (message := failure(tiny, asked(SHOWN))) and "can't see images" in message

    @pytest.mark.parametrize(("left_out", "reason"), [("visual", "lacks the vision part"), ("fc2.bias", "fc2.bias” is missing")])
    def test_a_checkpoint_without_its_tower_says_so(self, left_out: str, reason: str, tmp_path) -> None:
        shutil.copytree(VISION / "qwen3_5", tmp_path / "target")
        weights = mx.load(str(tmp_path / "target" / "model.safetensors"))
        assert isinstance(weights, dict)
        kept = {name: array for name, array in weights.items() if left_out not in name}
        assert len(kept) < len(weights)
        mx.save_safetensors(str(tmp_path / "target" / "model.safetensors"), kept)
        engine = loaded(tmp_path / "target", None)
        assert not engine.pair.info.can_see
        assert "photo.png" in (message := failure(engine, asked(SHOWN))) and reason in message
        assert len(reply(engine, asked((Message("user", "a"),), max_tokens=3)).tokens) == 3

    def test_exact_mode_is_refused_by_name(self, engines: dict[str, Engine]) -> None:
        assert "photo.png" in (message := failure(engines["qwen3_5"], asked(SHOWN, exact=True))) and "Exact mode" in message


def test_a_reply_is_canceled_while_its_image_is_decoded(engines: dict[str, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    started, engine = threading.Event(), engines["qwen3_5"]
    engine.free_memory()

    def endless(*args: Any) -> None:
        started.set()
        args[-1].wait()  # the cancel event
        raise WorkCancelled

    monkeypatch.setattr("mlx_engine.loading.image_reader.pixels", endless)
    cancel = threading.Event()
    steps = engine.steps(asked(SHOWN), cancel)
    while not started.is_set():
        assert all(not isinstance(event, Finished) for event in next(steps))
    cancel.set()
    ended = [event for step in steps for event in step]
    assert isinstance(ended[-1], Finished) and ended[-1].reason == "cancelled"


def test_memory_is_reserved_for_images() -> None:
    room = MemoryLedger(lambda tokens: (tokens, 10), lambda: 100, 1000)
    assert room.fits(500, 390) and not room.fits(500, 391)


def test_an_image_needs_memory_for_its_pixels_the_tower_and_soft_tokens(engines: dict[str, Engine]) -> None:
    reader = engines["qwen3_5"].pair.images
    assert reader is not None
    engines["qwen3_5"].free_memory()
    small, large = ([ImageSpan(0, grid, "a")] for grid in ((2, 2), (40, 40)))
    tower = reader.rules.weight_bytes(4)
    assert reader.bytes([]) == 0 < tower < reader.bytes(small) < reader.bytes(large)
    before, alone = engines["qwen3_5"].pair.held, reader.bytes(small)
    reply(engines["qwen3_5"], asked(SHOWN, max_tokens=1))
    assert reader.bytes(small) == alone - tower, "it is held for all replies"
    assert engines["qwen3_5"].pair.held > before + tower, "with soft tokens"
    reader.release()
    assert engines["qwen3_5"].pair.held == before


@pytest.mark.parametrize("at", ["tower", "prompt", "reply"])
def test_after_an_error_of_the_gpu_the_images_are_computed_again(engines: dict[str, Engine], at: str) -> None:
    engine = engines["gemma4_causal"]
    engine.free_memory()
    request = asked(SHOWN, max_tokens=12, width=4)
    expected = reply(engine, request)
    engine.free_memory()
    reader = engine.pair.images
    assert reader is not None
    computed, failed = reader.computed, list[bool]()

    def fail(rows: int = 0) -> None:
        is_due = {"tower": not rows, "prompt": rows > 16, "reply": 0 < rows <= 4}[at]
        if is_due and not failed:
            failed.append(True)
            raise RuntimeError(VICTIM)

    with pytest.MonkeyPatch.context() as patch:
        before_each_pass(engine.pair.target, patch, fail)
        patch.setattr(image_reader, "load_tower", lambda *of: fail() or tower_weights.load_tower(*of))
        got = reply(engine, request)
    assert failed and got.tokens == expected.tokens and got.stats.gpu_error
    assert reader.computed - computed == (1 if at == "tower" else 2)


@pytest.mark.parametrize(
    ("part", "name"),
    [(image_reader, "load_tower"), (generation, "prepare"), (Snapshots, "take"), (Snapshots, "put"), (chat_prompt, "render")],
    ids=["tower", "prompt", "copies", "kept", "count"],
)
def test_other_work_is_not_part_of_the_time_of_a_shared_pass(
    engines: dict[str, Engine], monkeypatch: pytest.MonkeyPatch, part: Any, name: str
) -> None:
    engine, ticks, times, late = engines["gemma4_causal"], count(), list[float](), list[float]()
    engine.free_memory()
    monkeypatch.setattr(engine.pair.history, "lookup", False)  # plain steps, which are queued
    texts = [tokens((9, 8 + at, 7), lookup_only=True, max_tokens=300, ignore_eos=True) for at in range(2)]
    running = [engine.steps(each) for each in texts]
    real = getattr(part, name)

    def slow(*given: Any, **options: Any) -> Any:
        late.append(1e6)
        return real(*given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine._turns.scheduler, "_clock", lambda: next(ticks) + sum(late))
        patch.setattr(PassCosts, "record_shared", lambda costs, load, seconds: times.append(seconds))
        while len(times) < 8:
            for each in running:
                next(each)
        patch.setattr(part, name, slow)
        for at in range(4):  # between other turns
            next(running[at % 2])
            if part is chat_prompt:
                engine.count_tokens(CountTokens(GenerationRequest((Message("user", "Hi"),))))
            else:
                running.append(engine.steps(asked(SHOWN, max_tokens=1)))
                next(running[-1])
        for _ in range(60):
            for each in running:
                next(each, None)
    assert late and max(times) < 1e6


def test_images_that_are_computed_again_after_the_first_token_take_no_time_of_the_prompt(engines: dict[str, Engine]) -> None:
    engine, failed, ticks = engines["gemma4_causal"], list[int](), count()

    def fail(rows: int) -> None:
        if 1 < rows <= 4 and not failed:
            failed.append(rows)
            raise RuntimeError(VICTIM)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplyClock, "__call__", lambda _: float(next(ticks)))
        engine.free_memory()
        expected = reply(engine, asked(SHOWN, max_tokens=12, width=4))
        engine.free_memory()
        before_each_pass(engine.pair.target, patch, fail)
        got = reply(engine, asked(SHOWN, max_tokens=12, width=4))
    assert failed and got.tokens == expected.tokens and got.stats.image_s == expected.stats.image_s


def test_grammars_of_replies_to_images_are_those_of_plain_decoding(engines: dict[str, Engine]) -> None:
    schema = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}'
    for family, options in (("qwen3_5", {"thinking": True}), ("gemma4_unified", {})):
        request = asked(SHOWN, schema=schema, sampling=Sampling(0.8), seed=3, **options)
        plain = reply(engines[family], replace(request, mode="plain", reuse=False))
        assert reply(engines[family], request).tokens == plain.tokens


@pytest.mark.parametrize("together", [False, True])
def test_a_comparison_with_images_has_no_difference(engines: dict[str, Engine], together: bool) -> None:
    engine = engines["qwen3_5"]
    request = Compare((asked(SHOWN, max_tokens=8, reuse=False),), together=together)
    ended = [event for event in engine.run(request) if isinstance(event, ContestantResult)]
    assert [event.runs[0].has_shared_passes for event in ended] == [together] * 2
    assert [event.identical for event in ended] == [1, 1] and not any(event.difference for event in ended)
    whole, other = reply(engine, asked(SHOWN)), asked(SHOWN, reuse=False)
    changed = [*whole.tokens[:5], whole.tokens[5] + 1]
    found = difference(engine.pair, other, whole.tokens, changed, 5)
    assert found.margin is not None and found.margin > 0


def test_replies_to_images_of_one_host_run_at_the_same_time() -> None:
    """Two prompts have the same tokens, but images with other pixels."""
    host = EngineHost(Engine)
    names = ("image_start", "same_ids_other_pixels", "text_only")
    cases = [case for name in names for case in described("qwen3_5")["cases"] if case["name"] == name]
    loading = list(to_iter(host, LoadPair(VISION / "qwen3_5")))
    assert isinstance(loading[-1], PairInfo) and loading[-1].can_see
    events, ended = [list[Event]() for _ in cases], [threading.Event() for _ in cases]

    def deliver(at: int, event: Event | None) -> None:
        if event is None:
            ended[at].set()
        else:
            events[at].append(event)

    for at, case in enumerate(cases):
        chat = tuple(message(each["role"], each["content"]) for each in case["messages"])
        host.submit(asked(chat), partial(deliver, at))
    for each in ended:
        assert each.wait(300)
    host.close()
    assert [list(fold(each).tokens) for each in events] == [case["output_ids"] for case in cases]
    assert cases[0]["input_ids"] == cases[1]["input_ids"] and cases[0]["output_ids"] != cases[1]["output_ids"]


# As Qwen's published templates, which show images in results of tools, too
SHOWS = """\
{%- macro show(content) %}{% if content is string %}{{ content }}{% else %}{% for part in content %}
{{- '<|vision_start|><|image_pad|><|vision_end|>' if part.type == 'image' else part.text }}{% endfor %}{% endif %}{% endmacro %}
""" + QWEN3_TOOLS.replace("message.content.", "show(message.content).").replace("+ message.content +", "+ show(message.content) +")


@pytest.mark.parametrize("family", ["qwen3_5", "qwen3_vl"])
def test_a_tool_is_called_and_the_image_in_its_result_is_seen(family: str, tmp_path) -> None:
    tool = ToolSpec("look", None, {"type": "object", "properties": {}, "additionalProperties": False})
    chat = (Message("user", "Look at the screen."),)
    with seeing(family, "dflash", tmp_path, SHOWS) as engine:
        asked_to_call = asked(chat, tools=(tool,), tool_choice="required", one_call=True, max_tokens=200)
        [call] = [event for event in engine.generate(asked_to_call) if isinstance(event, ToolCall)]
        assert call.name == "look"
        called = (*chat, Message("assistant", "", calls=(call,)))
        replies = list[CompletedReply]()
        for name in ("photo", "photo_b"):
            shown = (*called, Message("tool", "See: here.", call_id=call.id, images=(picture(name, 5),)))
            request = asked(shown, tools=(tool,), max_tokens=24)
            replies.append(reply(engine, request))
            assert replies[-1].tokens == reply(engine, replace(request, mode="plain", reuse=False)).tokens
            assert replies[-1].stats.images == 1 and replies[-1].stats.reused_tokens > 0
        assert replies[0].tokens != replies[1].tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_a_regenerated_reply_computes_only_the_last_token_of_the_prompt(engines: dict[str, Engine], family: str) -> None:
    """Positions after images are shifted then, too, although no chunk of the prompt is computed."""
    engine = engines[family]
    engine.free_memory()
    first, again = (reply(engine, asked(SHOWN, max_tokens=40)) for _ in range(2))  # so many that the prompt's caches are copied
    assert again.stats.reused_tokens == first.stats.prompt_tokens - 1
    assert again.tokens == first.tokens
