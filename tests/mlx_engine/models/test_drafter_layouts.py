"""Drafters in other published layouts propose the same as a float64 reference, or as the layout they were copied from."""

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.models.rope_utils import initialize_rope

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.noise import gumbel
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.dflash.model import DFlashDrafter
from mlx_engine.drafters.dflash2.model import DFlash2Drafter
from mlx_engine.drafters.parts.rope import frequencies
from mlx_engine.drafters.parts.rope_config import RopeConfig
from tests.mlx_engine.drafters.drafter_cases import Case, Sharpened, block_logits, flat, speculators

GREEDY = Chooser(Sampling(), 0)
CLOSE = 1e-3  # as for the reference outputs


def rounds_of(case: Case, drafter: DFlashDrafter):
    """Yield each round's name, the context, all features so far, and the block's ids."""
    context, seen = drafter.context(), []
    for name in sorted({key.split(".")[0] for key in case.rounds}):
        features = case.rounds[f"{name}.target_hidden"]
        drafter.inject(context, features)
        seen.append(np.array(features))
        yield name, context, np.concatenate(seen), case.rounds[f"{name}.block_ids"].astype(mx.uint32)


@pytest.mark.parametrize("name", ["01_v1_full", "02_v1_swa_mixed", "06_dflash2", "09_v1_noncausal_swa"])
def test_the_float64_reference_gives_the_reference_outputs(name):
    case = Case(name)
    reference, table, head = case.reference(), np.array(case.table, np.float64), np.array(case.head, np.float64)
    for round_name, _, features, block in rounds_of(case, case.drafter()):
        hidden = reference.hidden(features, table[np.array(block)])
        assert np.abs(hidden - np.array(case.rounds[f"{round_name}.hidden"])).max() < CLOSE
        assert np.abs(hidden @ head.T - np.array(case.rounds[f"{round_name}.logits"])).max() < CLOSE


class TestSpeculators:
    """A v1 case in speculators' layout, with its own embedding and head and a reduced vocabulary."""

    @pytest.fixture
    def ids(self):
        return np.sort(np.random.default_rng(5).choice(301, 100, replace=False))

    @pytest.fixture
    def case(self, ids):
        case = Case("01_v1_full")
        case.config = speculators(case.config, draft_vocab_size=100)
        seen = mx.zeros((301,), mx.bool_)
        seen[mx.array(ids)] = True
        rng = np.random.default_rng(6)
        case.weights |= {
            "d2t": mx.array(ids - np.arange(100), dtype=mx.int64),
            "t2d": seen,
            "embed_tokens.weight": mx.array(rng.normal(size=(301, 64)).astype(np.float32)),
            "lm_head.weight": mx.array(rng.normal(size=(100, 64)).astype(np.float32)),
        }
        return case

    def test_every_round_agrees_with_the_float64_reference(self, case, ids):
        reference, drafter = case.reference(), case.drafter()
        table, head = (np.array(case.weights[name], np.float64) for name in ("embed_tokens.weight", "lm_head.weight"))
        count = 0
        for _, context, features, block in rounds_of(case, drafter):
            hidden = reference.hidden(features, table[np.array(block)])
            logits = hidden @ head.T
            assert np.abs(np.array(drafter.hidden(context, block[:1], block.size)) - hidden).max() < CLOSE
            assert np.abs(np.array(block_logits(drafter, context, block[:1], block.size)) - logits).max() < CLOSE
            proposed = drafter.propose(context, block[:1], block.size, GREEDY, None)
            assert proposed.dtype == mx.uint32 and proposed.tolist() == ids[logits.argmax(axis=1)].tolist()
            noise = gumbel(11, context.position + 1, block.size, 301)
            scores = 2 * logits + np.array(noise)[: block.size - 1, ids]
            assert (
                drafter.propose(context, block[:1], block.size, Sharpened(), noise).tolist() == ids[scores.argmax(axis=1)].tolist()
            )
            count += 1
        assert count == 5

    def test_without_its_own_embedding_and_head_it_uses_the_targets(self, case, ids):
        del case.weights["embed_tokens.weight"], case.weights["lm_head.weight"]
        plain, drafter = Case("01_v1_full"), case.drafter()
        for name, context, _, block in rounds_of(case, drafter):
            assert (
                mx.abs(
                    block_logits(drafter, context, block[:1], block.size) - plain.rounds[f"{name}.logits"][:, mx.array(ids)]
                ).max()
                < CLOSE
            )

    def test_with_the_whole_vocabulary_it_equals_the_original_case(self):
        case = Case("01_v1_full")
        case.config = speculators(case.config)
        case.weights |= {"verifier_norm.weight": mx.ones((64,)), "lm_head.weight": case.head, "embed_tokens.weight": case.table}
        drafter = case.drafter()
        for name, context, _, block in rounds_of(case, drafter):
            assert mx.abs(block_logits(drafter, context, block[:1], block.size) - case.rounds[f"{name}.logits"]).max() < CLOSE

    @pytest.mark.parametrize("named", [range(100), range(99, -1, -1), range(201, 301)])
    def test_d2t_may_list_any_distinct_tokens(self, case, named):
        case.weights["d2t"] = mx.array([token - i for i, token in enumerate(named)], dtype=mx.int64)
        drafter = case.drafter()
        assert set(drafter.propose(drafter.context(), mx.array([3], mx.uint32), 16, GREEDY, None).tolist()) <= set(named)

    @pytest.mark.parametrize("named", [range(202, 302), range(-1, 99), [*range(99), 98]])
    def test_d2t_with_an_invalid_or_repeated_token_is_refused(self, case, named):
        case.weights["d2t"] = mx.array([token - i for i, token in enumerate(named)], dtype=mx.int64)
        with pytest.raises(UserError, match="d2t"):
            case.drafter()

    def test_without_d2t_it_is_refused(self, case):
        del case.weights["d2t"]
        with pytest.raises(UserError, match="d2t"):
            case.drafter()


class TestOtherNames:
    """The same drafter under other names proposes the same."""

    def same(self, case: Case, name: str) -> None:
        drafter, original = case.drafter(), Case(name)
        for round_name, context, _, block in rounds_of(original, drafter):
            expected = original.rounds[f"{round_name}.tokens"].tolist()
            assert drafter.propose(context, block[:1], block.size, GREEDY, None).tolist() == expected

    def renamed(self, name: str, **parts: str) -> Case:
        case = Case(name)
        for part, other in parts.items():
            case.weights = {key.replace(part.replace("__", "."), other): value for key, value in case.weights.items()}
        return case

    def test_codebooks_with_weight(self):
        self.same(self.renamed("06_dflash2", codebook="codebook.weight"), "06_dflash2")

    def test_below_model(self):
        case = Case("01_v1_full")
        case.weights = {f"model.{key}": value for key, value in case.weights.items()}
        self.same(case, "01_v1_full")

    def test_muse(self):
        case = self.renamed("09_v1_noncausal_swa", fc__="encoder.fc.", hidden_norm="encoder.output_norm_enc")
        case.config = {**flat(case.config), "architectures": ["MuseGlimmerAssistantModel"]}
        case.config.pop("is_causal")
        self.same(case, "09_v1_noncausal_swa")

    def test_fused_projections(self):
        case = Case("02_v1_swa_mixed")
        for i in range(3):
            at = f"layers.{i}.self_attn."
            case.weights[at + "qkv_proj.weight"] = mx.concatenate([case.weights.pop(f"{at}{x}_proj.weight") for x in "qkv"])
        self.same(case, "02_v1_swa_mixed")

    def test_dflash2_in_speculators_layout(self):
        case = Case("06_dflash2")
        case.config = speculators(case.config, "dflash2")
        assert isinstance(case.drafter(), DFlash2Drafter)
        self.same(case, "06_dflash2")


def test_a_laguna_drafter_agrees_with_the_float64_reference():
    case = Case("02_v1_swa_mixed")
    case.config = {
        **case.config,
        "architectures": ["DFlashLagunaForCausalLM"],
        "gating": "per-head",
        "dflash_config": {**case.config["dflash_config"], "causal": True},
    }
    rng = np.random.default_rng(9)

    def random(*shape: int, mean: float = 0.0) -> mx.array:
        return mx.array(rng.normal(mean, 0.3, shape).astype(np.float32))

    case.weights |= {f"aux_hidden_norms.{i}.weight": random(64, mean=1) for i in range(2)}
    case.weights |= {f"layers.{i}.self_attn.g_proj.weight": random(2, 64) for i in range(3)}
    reference, drafter, table = case.reference(), case.drafter(), np.array(case.table, np.float64)
    for _, context, features, block in rounds_of(case, drafter):
        expected = reference.hidden(features, table[np.array(block)])
        assert np.abs(np.array(drafter.hidden(context, block[:1], block.size)) - expected).max() < CLOSE


def test_a_padded_head_proposes_no_token_beyond_the_vocabulary():
    """For both kinds: the target's table has rows beyond the vocabulary, and the likeliest token is one of them."""
    for name in ("01_v1_full", "06_dflash2"):
        case = Case(name)
        case.head = mx.concatenate([case.head, 100 * mx.ones((19, 64)), -100 * mx.ones((5, 64))])
        drafter = case.drafter()
        for round_name, context, _, block in rounds_of(case, drafter):
            tokens = drafter.propose(context, block[:1], block.size, GREEDY, None)
            assert tokens.tolist() == case.rounds[f"{round_name}.tokens"].tolist()
            noise = gumbel(3, context.position + 1, block.size, case.head.shape[0])
            assert drafter.propose(context, block[:1], block.size, Sharpened(), noise).max().item() < case.table.shape[0]


@pytest.mark.parametrize(
    "rope",
    [
        RopeConfig(500_000.0, "llama3", 8.0, 8192, 4.0, 1.0),
        RopeConfig(10_000.0, "llama3", 32.0, 2048, 4.0, 1.0),
        RopeConfig(10_000.0, "linear", 4.0),
        RopeConfig(1e6, "yarn", 4.0, 32768),
    ],
)
def test_scaled_frequencies_equal_mlx_lms(rope):
    scaling = {
        "rope_type": rope.kind,
        "factor": rope.factor,
        "original_max_position_embeddings": int(rope.original),
        "high_freq_factor": rope.beta_fast,
        "low_freq_factor": rope.beta_slow,
    }
    theirs: nn.Module = initialize_rope(64, rope.theta, False, scaling, max_position_embeddings=131072)
    ours, factor = frequencies(rope, 64)
    x = mx.random.normal((1, 2, 9, 64), key=mx.random.key(1))
    rotated = mx.fast.rope(x * factor, 64, traditional=False, base=None, scale=1.0, offset=3000, freqs=ours)
    assert mx.abs(rotated - theirs(mx.array(x), offset=3000)).max().item() < 2e-3
