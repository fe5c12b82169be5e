"""Rank 0 ends after an error of a pass, which the other ranks would take for the rest of the next one."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import mlx.core as mx
import pytest

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import LoadProgress, PairInfo
from mlx_engine.contract.requests import Compare, ForgetPrompts, GenerationRequest, LoadPair, with_drafters
from mlx_engine.engine import local_comparison
from mlx_engine.loading import loaded_pair
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.ring.led_engine import LedEngine
from mlx_engine.targets.sharding import Sharding
from tests.mlx_engine.asking import tokens

TARGET, DRAFTER = demo_pair()


class Ended(BaseException):
    """The process has ended."""


class Alone:
    """A ring without other ranks.

    Attributes:
        told: what they would have been told.
    """

    told: ClassVar[list[tuple[Any, ...]]] = []

    def connect(self, target: Path) -> Generator[LoadProgress, None, Sharding]:
        yield LoadProgress(0.1, EngineText.of("connecting_workers", "Connecting to the other computers"))
        return Sharding(mx.distributed.init(), lambda *message: self.told.append(message))

    def wait_until_loaded(self, sharding: Sharding) -> None:
        pass

    def give_up(self, reason: EngineText | None = None) -> None:
        raise Ended(reason.code if reason is not None else None)


@pytest.fixture
def engine() -> LedEngine:
    return LedEngine(Alone)


def out_of_memory(*_: Any, **__: Any) -> Any:
    raise RuntimeError("[malloc] Unable to allocate 1 bytes.")


def failed(*_: Any, **__: Any) -> Any:
    raise RuntimeError("[ring] Receiving failed.")


def test_no_other_drafter_is_loaded_after_a_pass_that_had_no_memory(engine: LedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_pair, "warm", out_of_memory)
    with pytest.raises(Ended, match="memory"):
        list(engine.run(LoadPair(TARGET, DRAFTER, auto=True)))


def test_a_drafter_that_does_not_fit_the_target_is_skipped(engine: LedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise UserError("a", "Another tokenizer.")

    monkeypatch.setattr(loaded_pair, "_check_drafter_tokens", refuse)
    *_, info = engine.run(LoadPair(TARGET, DRAFTER, auto=True))
    assert isinstance(info, PairInfo) and info.why_not_fastest is not None


@pytest.mark.parametrize("error", [out_of_memory, failed])
def test_an_error_between_the_replies_of_a_comparison_ends_it(
    engine: LedEngine, monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    """The difference of two texts is measured by passes, too."""
    list(engine.run(LoadPair(TARGET, DRAFTER)))
    asked: GenerationRequest = tokens(range(5, 15), max_tokens=3, ignore_eos=True)
    monkeypatch.setattr("mlx_engine.engine.comparison.first_difference", lambda a, b: 0)
    monkeypatch.setattr(local_comparison, "difference", error)
    with pytest.raises(Ended):
        list(engine.run(Compare((asked,), with_drafters(TARGET, (DRAFTER,)))))


def test_a_comparison_that_is_refused_ends_nothing(engine: LedEngine) -> None:
    list(engine.run(LoadPair(TARGET, DRAFTER)))
    with pytest.raises(UserError) as raised:
        list(engine.run(Compare((tokens((5,)),), with_drafters(TARGET, (DRAFTER, TARGET)), together=True)))
    assert raised.value.text.code == "pairs_not_together"


def test_a_deleted_chat_leaves_the_memory_of_all_ranks_at_once(engine: LedEngine) -> None:
    list(engine.run(LoadPair(TARGET, DRAFTER)))
    list(engine.run(replace(tokens(range(5, 15), max_tokens=3, reuse=True), chat="a")))
    del Alone.told[:]
    list(engine.run(ForgetPrompts(("a",))))
    assert {what for what, *_ in Alone.told} == {"free"}
