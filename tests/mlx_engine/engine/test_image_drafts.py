"""With images, every drafter gives the text of plain decoding: all widths and temperatures, after reuse, edits, restarts."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from mlx_engine.decoding import prefill
from mlx_engine.engine.engine import Engine
from mlx_engine.prefix import disk, part
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import reply
from tests.mlx_engine.engine.seeing import FAMILIES, picture, seeing
from tests.mlx_engine.engine.test_turns import together
from tests.mlx_engine.prefix.prefix_pairs import restart

QUICK = (
    ("qwen3_5", "dflash"),
    ("qwen3_5", "mtp"),
    ("gemma4_bidirectional", "dspark"),
    ("gemma4_causal", "eagle3"),
    ("gemma4_unified", "dflash"),
)
PAIRS = [
    *product((*FAMILIES, "qwen3_5_moe"), ("dflash", "dspark", "eagle3")),
    *product(("qwen3_5", "qwen3_5_moe"), ("mtp",)),
    *product([family for family in FAMILIES if "gemma4" in family], ("assistant",)),
]
BLOCK = 16  # tokens of chunks and of saved parts
LONGEST = 10 if SAMPLE else 24  # tokens of a reply
TEXTS = st.sampled_from(["", "Look: ", "What is it?", " Compare it with the boat, please."])
NAMES = ("photo", "photo_b", "tiny", "tall", "alpha", "palette")


@pytest.fixture(
    scope="module",
    params=[pytest.param(pair, id="-".join(pair), marks=[] if pair in QUICK else [pytest.mark.long]) for pair in PAIRS],
)
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    with seeing(*request.param, tmp_path_factory.mktemp("pair")) as engine, pytest.MonkeyPatch.context() as patch:
        for module in (part, disk):
            patch.setattr(module, "BLOCK", BLOCK)
        patch.setattr(disk, "STATES_EVERY", 3 * BLOCK)
        patch.setattr(disk, "_LEAST_GAIN", 1)
        patch.setattr(prefill, "CHUNK", BLOCK)
        yield engine


@st.composite
def questions(draw: st.DrawFn) -> Message:
    """A message with up to two images."""
    text = draw(TEXTS)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=2)))
    return Message("user", text, images=tuple(picture(draw(st.sampled_from(NAMES)), at) for at in places))


@sampled(1, 50)
@given(data=st.data())
def test_a_chat_with_images_has_the_text_of_plain_decoding(engine: Engine, data: st.DataObject, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("store")
    engine.free_memory()
    engine.save_prompts(folder)
    question = replace(data.draw(questions()), images=(picture(data.draw(st.sampled_from(NAMES)), 0),))
    chat: tuple[Message, ...] = (question,)
    for _ in range(data.draw(st.integers(2, 4), "turns")):
        request = GenerationRequest(
            chat,
            sampling=Sampling(data.draw(st.sampled_from([0.0, 0.8]), "temperature")),
            seed=data.draw(st.integers(0, 99), "seed"),
            width=data.draw(st.sampled_from([None, *range(1, 9)]), "width"),
            lookup_only=data.draw(st.sampled_from([False, False, True]), "lookup"),
            max_tokens=data.draw(st.integers(1, LONGEST), "limit"),
            ignore_eos=True,
            chat="1",
        )
        plain = replace(request, mode="plain", reuse=False, width=None, lookup_only=False)
        expected = reply(engine, plain)
        if data.draw(st.booleans(), "with another reply"):
            other = replace(plain, seed=5, chat="2", reuse=True)
            got, second = together(engine, [request, other])
            assert second.tokens == reply(engine, replace(plain, seed=5)).tokens
        else:
            got = reply(engine, request)
        assert got.tokens == expected.tokens
        if data.draw(st.sampled_from([False, False, True]), "restarted"):
            restart(engine, folder)
        match data.draw(st.sampled_from(["next turn", "next turn", "edit", "regenerate"]), "then"):
            case "next turn":
                chat = (*chat, Message("assistant", got.text), data.draw(questions(), "question"))
            case "edit":
                chat = (*chat[:-1], data.draw(questions(), "edited"))
    engine.save_prompts(None)
