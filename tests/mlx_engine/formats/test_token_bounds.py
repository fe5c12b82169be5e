"""Token ids from tokenizers and drafters are checked against the target's real table before MLX uses them as indices."""

import json
import shutil
from types import SimpleNamespace

import mlx.core as mx
import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from mlx_engine.decoding.sampling import Penalties
from mlx_engine.loading import loaded_pair
from mlx_engine.targets.target import Target
from tests.mlx_engine.asking import failure, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, by_mlx_lm, loaded

TEMPLATE = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}"
ASKED = (Message("user", "t1 t2 t3"),)


@pytest.fixture(scope="module", params=[128, 300, 10_000_000])
def strange(request, tmp_path_factory):
    """A tiny target whose tokenizer has a token without an embedding, and the token's id."""
    folder = shutil.copytree(GOLDEN / "e2e_qwen3" / "target", tmp_path_factory.mktemp("strange") / "target")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["beyond"] = request.param
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return loaded(folder, GOLDEN / "e2e_qwen3" / "drafter"), request.param


@pytest.mark.parametrize(
    "asked",
    [
        GenerationRequest(messages=(Message("user", "t1 beyond"),), max_tokens=4),
        GenerationRequest(messages=ASKED, continue_from="t4 beyond", max_tokens=4),
        GenerationRequest(messages=ASKED, continue_thinking="beyond", max_tokens=4),
        GenerationRequest(prompt_tokens=(1, 2), continue_from="beyond", max_tokens=4),
        GenerationRequest(
            messages=(Message("user", "beyond"),), max_tokens=4, mode="plain", sampling=Sampling(repetition_penalty=1.5)
        ),
    ],
    ids=["message", "continued answer", "continued thinking", "continued tokens", "penalized"],
)
def test_a_rendered_token_without_an_embedding_is_refused(strange, asked):
    engine, token = strange
    message = failure(engine, asked)
    assert f"Token {token} is outside" in message and "range of 0 to 127" in message
    assert len(reply(engine, GenerationRequest(messages=ASKED, max_tokens=4, ignore_eos=True)).tokens) == 4


@pytest.mark.parametrize("token", [128, 10_000_000, -1, 1 << 70])
def test_a_raw_token_without_an_embedding_is_refused(tiny, token):
    assert f"Token {token} is outside" in failure(tiny, tokens((1, token), max_tokens=4))


def test_a_penalty_ignores_tokens_without_a_logit():
    penalties = Penalties(Sampling(repetition_penalty=2.0, presence_penalty=1.0), [0, 5, 10_000_000])
    penalties.add([3, 10_000_000])
    assert penalties.apply(mx.ones((1, 4))).tolist() == [[0.5, 1.0, 1.0, -0.5]]


def test_a_target_without_a_drafter_is_checked_against_its_real_table_too():
    assert Target(by_mlx_lm(GOLDEN / "e2e_qwen3" / "target"), 10_000_000).rows == 128


def test_a_target_with_more_logits_than_embeddings_is_refused():
    model = by_mlx_lm(GOLDEN / "e2e_qwen3" / "target")
    model.model.embed_tokens.weight = model.model.embed_tokens.weight[:100]
    with pytest.raises(UserError, match="has logits for 128 tokens, but embeddings for only 100"):
        loaded_pair._check_target_tokens(Target(model, 128))


@pytest.mark.parametrize(
    ("vocabulary", "mask", "declared", "fits"),
    [
        (128, 126, True, True),
        (None, 127, False, True),
        (100, 5, True, True),
        (100, 5, False, False),
        (129, 5, True, False),
        (10_000_000, 5, False, False),
        (128, 128, True, False),
        (None, 10_000_000, False, False),
    ],
)
def test_a_drafter_with_tokens_beyond_the_targets_real_table_is_refused(tiny, vocabulary, mask, declared, fits):
    config = SimpleNamespace(vocab_size=vocabulary, mask_token=mask)
    if fits:
        loaded_pair._check_drafter_tokens(config, tiny.pair.target, declared)
    else:
        with pytest.raises(UserError, match="but the target has 128 tokens"):
            loaded_pair._check_drafter_tokens(config, tiny.pair.target, declared)
