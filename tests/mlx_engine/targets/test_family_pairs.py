"""Every family as a pair from folders through the engine: DFlash's greedy text is plain decoding's, in float32, at every width.

The drafter is a random one, which is almost always wrong, or one that foresees the text and errs now and then.
"""

from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.engine.engine import Engine
from tests.examples import SAMPLE
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.engine.test_turns import together
from tests.mlx_engine.targets.test_families import draw
from tests.mlx_engine.tiny_families import CONFIGS, FAMILIES, VOCABULARY, save, save_drafter, save_eagle3, save_mtp, text

WIDTHS = (2, 5, 8, 16)
QUICK = ("gemma4", "gpt_oss", "lfm2", "qwen3_next")
QUANTISED = (("qwen3_next", 4), ("gpt_oss", 8))


class Foresight:
    """A drafter that proposes the true continuation, except at some positions."""

    def __init__(self, drafter: Any, truth: list[int]) -> None:
        self._drafter, self._truth = drafter, truth

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drafter, name)

    def propose(self, context, anchor, rows, chooser, noise):
        at = context.start + mx.arange(1, rows)  # a number, or an array where only the device knows it
        ahead = mx.take(mx.array([*self._truth, *[0] * 64], mx.uint32), at)
        return mx.where(at * 7919 % 11 < 3, (ahead + 1) % VOCABULARY, ahead)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return a function that loads a family's pair, quantized if `bits` is given."""
    place = tmp_path_factory.mktemp("families")

    def load(name: str, bits: int | None = None, dspark: bool = False) -> Engine:
        folder = place / f"{name}-{bits}-{dspark}"
        if not folder.exists():
            folder.mkdir()
            save(name, folder / "target", bits)
            save_drafter(name, folder / "drafter", dspark=dspark)
        return loaded(folder / "target", folder / "drafter")

    return load


def assert_lossless(engine: Engine, prompt: list[int], limit: int, widths: tuple[int, ...], guessed: int) -> None:
    """Check `limit` tokens with a foreseeing drafter, and the first `guessed` with the pair's own."""
    plain = reply(engine, tokens(prompt, mode="plain", max_tokens=limit, ignore_eos=True)).tokens
    assert len(plain) == limit
    own = engine.pair.drafter
    for width in widths:
        engine.pair.drafter = Foresight(own, [*prompt, *plain])
        got = reply(engine, tokens(prompt, width=width, max_tokens=limit, ignore_eos=True))
        engine.pair.drafter = own
        assert got.tokens == plain
        assert 0 < got.stats.accepted < got.stats.drafted
        if guessed:
            got = reply(engine, tokens(prompt, width=width, max_tokens=guessed, ignore_eos=True))
            assert got.tokens == plain[:guessed]
            assert got.stats.accepted < got.stats.drafted


@pytest.mark.parametrize("name", FAMILIES)
def test_every_width_gives_a_familys_plain_text(pair, name):
    engine = pair(name)
    assert engine.pair.info.family == CONFIGS[name]["model_type"] and not engine.pair.info.why_plain
    assert_lossless(engine, draw(19, 11), 32, WIDTHS[::2] if SAMPLE else WIDTHS, 0)
    assert_lossless(engine, draw(3, 12), 24, (16,) if SAMPLE else (8,), 16)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in FAMILIES])
def test_dspark_gives_a_familys_plain_text(pair, name):
    assert_lossless(pair(name, dspark=True), draw(3, 12), 24, (2, 8, 16), 16)


@pytest.mark.parametrize("name", ["qwen3_5", "qwen3_5_moe", "qwen3_next"])
def test_mtp_gives_a_familys_plain_text(tmp_path, name):
    engine = loaded(save(name, tmp_path / "target"), save_mtp(name, tmp_path / "head"))
    assert_lossless(engine, draw(3, 12), 24, (2, 8), 16)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in FAMILIES])
def test_eagle3_gives_a_familys_plain_text(tmp_path, name):
    engine = loaded(save(name, tmp_path / "target"), save_eagle3(name, tmp_path / "drafter"))
    assert_lossless(engine, draw(3, 12), 24, (2, 8), 16)


@pytest.mark.parametrize(("name", "bits"), QUANTISED)
def test_a_quantized_target_gives_its_plain_text(pair, name, bits):
    assert_lossless(pair(name, bits), draw(19, 11), 48, (5, 16), 8)


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
def test_a_long_reply_is_the_familys_plain_text(pair, name):
    engine = pair(name)
    assert_lossless(engine, draw(45, 21), 260, WIDTHS, 260)
    assert_lossless(engine, draw(1, 22), 260, WIDTHS, 0)


@pytest.mark.long
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_long_reply_of_a_quantized_family_is_its_plain_text(pair, name, bits):
    assert_lossless(pair(name, bits), draw(19, 23), 260, WIDTHS, 32)


@pytest.mark.parametrize("name", ["qwen3_5", "llama"])
def test_the_features_of_a_loaded_pair_are_its_layers_outputs(pair, name):
    target = pair(name).pair.target
    features = target.forward_tapped(mx.array(draw(9, 1)), target.caches())[1]
    assert features.shape == (9, 64 * len({0, text(name)["num_hidden_layers"] // 2, text(name)["num_hidden_layers"] - 1}))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in FAMILIES])
def test_a_familys_replies_at_the_same_time_have_their_own_texts(pair, name):
    engine = pair(name)
    options = ({"width": 5}, {}, {"mode": "plain"}, {"width": 16, "temperature": 0.8, "seed": 3})
    requests = [tokens(draw(11 + 4 * at, at), max_tokens=24, ignore_eos=True, **each) for at, each in enumerate(options)]
    wanted = [reply(engine, request).tokens for request in requests]
    assert [got.tokens for got in together(engine, requests)] == wanted
