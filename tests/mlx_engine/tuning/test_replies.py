"""The replies to learn from: given ones are recorded as they are, and batches of a step need little padding."""

import threading
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import GenerationRequest, Message, TuneDrafter
from mlx_engine.engine.engine import Engine
from mlx_engine.models.files import tuning_files
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.tuning import recorded_replies, tuner
from mlx_engine.tuning.block_loss import BlockBatch
from mlx_engine.tuning.recorded_replies import TargetReply
from mlx_engine.tuning.training_loop import Trainer, TrainingPlan
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.tuning.test_blocks import Case, blocks, model
from tests.mlx_engine.tuning.test_tune import PROMPTS, copied, run

GIVEN = TuneDrafter(tuple((*prompt, Message("assistant", "t5 t6 t8")) for prompt in PROMPTS), epochs=1)


@pytest.fixture
def engine(tmp_path, monkeypatch) -> Engine:
    monkeypatch.setattr(tuning_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    pair, made = copied("e2e_qwen3", tmp_path / "pair"), Engine()
    list(made.load(pair / "target", pair / "drafter"))
    return made


def test_given_replies_are_recorded_and_not_generated(engine, monkeypatch):
    monkeypatch.setattr(engine, "generate", lambda *_: pytest.fail("A given reply was generated."))
    recorded, save = list[tuple[list[int], int]](), recorded_replies.save

    def record(pair: object, tokens: list[int], start: int, file: object) -> object:
        recorded.append((tokens, start))
        return save(pair, tokens, start, file)

    monkeypatch.setattr(recorded_replies, "save", record)
    run(engine, GIVEN)
    encode = engine.pair.tokenizer.encode
    prompts, reply = [encode(prompt[0].content) for prompt in PROMPTS], encode("t5 t6 t8", add_special_tokens=False)
    assert len(reply) == 3 and recorded == [([*prompt, *reply], len(prompt)) for prompt in prompts]


def test_the_number_of_held_out_chats_is_limited(engine, monkeypatch):
    monkeypatch.setattr(tuner, "_MOST_HELD_OUT", 2)
    monkeypatch.setattr(tuner, "_CHOOSING", (1, 1))  # no chat, because their replies would be measured too
    measured, count = list[TargetReply](), tuner.rounds
    monkeypatch.setattr(tuner, "rounds", lambda drafter, reply, *rest: (measured.append(reply), count(drafter, reply, *rest))[1])
    run(engine, GIVEN)
    assert len({reply.file for reply in measured}) == 2  # not 3, every fourth of 12


def test_a_given_reply_ends_as_the_chat_template_ends_it(tmp_path):
    pair = loaded(*demo_pair()).pair
    request = GenerationRequest((Message("user", "Hello!"),), continue_from="Hi.")
    reply = recorded_replies.record(
        pair, lambda *_: pytest.fail("generated"), request, tmp_path / "reply.safetensors", threading.Event()
    )
    assert pair.tokenizer.decode(reply.tokens[reply.start :].tolist()) == "Hi.<|im_end|>"
    assert reply.features.shape[0] == len(reply.tokens) - 1


@dataclass(frozen=True)
class FakeReply:
    """A reply whose tokens are all the same."""

    tokens: np.ndarray
    start: int

    @property
    def features(self) -> mx.array:
        return mx.zeros((len(self.tokens) - 1, 2))


@given(st.lists(st.tuples(st.integers(1, 150), st.integers(2, 90)), min_size=1, max_size=9), st.integers(1, 12))
def test_each_reply_is_in_one_batch_with_those_closest_in_length(lengths, anchors):
    drawn = [FakeReply(np.full(start + count, i, np.int32), start) for i, (start, count) in enumerate(lengths)]
    found = recorded_replies.batches(drawn, anchors, 4, frozenset(), np.random.default_rng(0))
    rows = [[int(row[0, 0]) for row in np.array(part.blocks)] for part in found]
    assert sorted(i for row in rows for i in row) == list(range(len(drawn)))
    sizes = [len(drawn[i].tokens) for row in rows for i in row]
    assert sizes == sorted(sizes)
    for part, row in zip(found, rows, strict=True):
        assert 0 <= part.features.shape[1] - max(len(drawn[i].tokens) - 1 for i in row) < 64
        assert part.anchors.shape[1] == min(anchors, max(lengths[i][1] - 1 for i in row))


def test_the_gradient_of_several_batches_is_that_of_one_with_all_blocks(tmp_path):
    case, plan = Case("01_v1_full"), TrainingPlan(steps=1, rate=1e-3, muon=0.0, seed=0)
    parts = [blocks(case, 3), blocks(case, 4)]
    parts[1].weights[:] = 0.1 * parts[1].weights
    whole = BlockBatch(*(mx.concatenate([getattr(part, name) for part in parts]) for name in BlockBatch.__dataclass_fields__))
    loss, gradient = Trainer(model(case), plan, dict(case.weights), tmp_path / "state")._gradient(parts)
    expected, slopes = mx.value_and_grad(model(case))(dict(case.weights), whole)
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    for name, slope in slopes.items():
        assert mx.linalg.norm((gradient[name] - slope).flatten()) <= 1e-4 * mx.linalg.norm(slope.flatten()), name
