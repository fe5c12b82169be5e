"""A drafter's tensors: quantized on loading, stored quantized, and invalid ones."""

import json

import mlx.core as mx
import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.loading.drafter_files import load, usual_bits
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.drafters.drafter_cases import Case, block_logits
from tests.mlx_engine.tiny_families import VOCABULARY, save_drafter

GREEDY = Chooser(Sampling(), 0)
LINEAR = ("proj.weight", "fc.weight")


def rounded(case: Case, bits: int, group_of=lambda columns: 64 if columns % 64 == 0 else 32) -> Case:
    """The case with matrices rounded to `bits`, in floating point; selector and convolutions stay as they are."""
    for name, array in case.weights.items():
        if name.endswith(LINEAR) and "conv" not in name and "selector" not in name:
            group = group_of(array.shape[1])
            case.weights[name] = mx.dequantize(*mx.quantize(array, group_size=group, bits=bits), group_size=group, bits=bits)
    return case


def outcome(case: Case, bits: int = 16) -> tuple[mx.array, mx.array]:
    """Inject the features of two rounds; return logits and proposals of a block."""
    drafter = case.drafter(bits=bits)
    context = drafter.context()
    for features in case.features(2):
        drafter.inject(context, features)
    anchor = mx.array([7], mx.uint32)
    width = drafter.config.block_size
    return block_logits(drafter, context, anchor, width), drafter.propose(context, anchor, width, GREEDY, None)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", ["01_v1_full", "02_v1_swa_mixed", "04_v1_yarn_bias", "06_dflash2"])
def test_quantized_matrices_compute_like_rounded_ones(name, bits):
    logits, proposed = outcome(Case(name), bits)
    expected, expected_proposed = outcome(rounded(Case(name), bits))
    assert mx.abs(logits - expected).max().item() < 1e-3
    assert proposed.tolist() == expected_proposed.tolist()
    assert mx.abs(logits - outcome(Case(name))[0]).max().item() > 1e-3, "rounding shows"


@pytest.mark.parametrize("bits", [4, 8])
def test_quantized_matrices_take_less_memory(bits):
    def size(bits: int) -> int:
        return sum(array.nbytes for array in Case("01_v1_full").drafter(bits=bits).parameters())

    assert size(bits) < size(16) * (bits + 2.5) / 32


def test_own_tables_are_quantized_too(tmp_path):
    """An own embedding is most of a DSpark drafter, and its predicted memory counts on it."""
    folder = save_drafter("qwen3", tmp_path / "drafter", dspark=True)
    table = mx.random.normal((VOCABULARY, 64))
    weights = {**mx.load(str(folder / "model.safetensors")), "embed_tokens.weight": table}
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    sizes = [
        sum(array.nbytes for array in load(folder, mx.float32, lambda ids: table[ids], lambda h: h @ table.T, bits).parameters())
        for bits in (16, 4)
    ]
    assert sizes[1] < sizes[0] / 4


@pytest.mark.parametrize("bits", [4, 8])
def test_a_drafter_stored_quantized_is_read(bits):
    """In MLX's format, with one matrix at other bits and one in floating point."""
    case = Case("02_v1_swa_mixed")
    odd, left = "layers.0.mlp.up_proj", "layers.1.self_attn.k_proj"
    case.config["quantization"] = {
        "group_size": 32,
        "bits": bits,
        "mode": "affine",
        odd: {"group_size": 64, "bits": 8},
        left: False,
    }
    case.config["quantization_config"] = case.config["quantization"]
    floating = Case("02_v1_swa_mixed")
    for name in [name for name in case.weights if name.endswith(LINEAR) and not name.startswith(left)]:
        module = name.removesuffix(".weight")
        group, width = (64, 8) if module == odd else (32, bits)
        parts = mx.quantize(case.weights.pop(name), group_size=group, bits=width)
        case.weights |= {f"{module}.{part}": array for part, array in zip(("weight", "scales", "biases"), parts, strict=True)}
        floating.weights[name] = mx.dequantize(*parts, group_size=group, bits=width)
    logits, proposed = outcome(case)
    expected, expected_proposed = outcome(floating)
    assert mx.abs(logits - expected).max().item() < 1e-3
    assert proposed.tolist() == expected_proposed.tolist()


def test_a_dflash_2_drafter_converted_by_mlx_vlm_is_read():
    """It quantizes the convolutions' projections and the selector's codebooks too, and renames the codebooks."""
    case, floating = Case("06_dflash2"), Case("06_dflash2")
    for one in (case, floating):  # of rank 32 instead of 16, because a group has at least 32 numbers
        one.config["dflash_config"]["selector_rank"] = 32
        for name, axis in (("predecessor_codebook", 1), ("successor_codebook", 1), ("hidden_projection.weight", 0)):
            narrow = one.weights[f"candidate_selector.{name}"]
            one.weights[f"candidate_selector.{name}"] = mx.concatenate([narrow, narrow[::-1]], axis=axis)
    case.config["quantization"] = case.config["quantization_config"] = {"group_size": 32, "bits": 4, "mode": "affine"}
    for name in [name for name, array in case.weights.items() if array.ndim == 2]:
        module = name.removesuffix(".weight")
        parts = mx.quantize(case.weights.pop(name), group_size=32, bits=4)
        case.weights |= {f"{module}.{part}": array for part, array in zip(("weight", "scales", "biases"), parts, strict=True)}
        floating.weights[name] = mx.dequantize(*parts, group_size=32, bits=4)
    assert {"candidate_selector.successor_codebook.scales", "layers.0.mlp_conv.kernel_projection.scales"} <= set(case.weights)
    logits, proposed = outcome(case)
    expected, expected_proposed = outcome(floating)
    assert mx.abs(logits - expected).max().item() < 1e-3
    assert proposed.tolist() == expected_proposed.tolist()


def test_large_drafters_on_a_gpu_default_to_four_bits(monkeypatch):
    assert usual_bits(4_000_000_000) == 16, "products of quantised matrices are slow on a CPU"
    monkeypatch.setattr(mx, "default_device", lambda: mx.Device(mx.gpu))
    assert (usual_bits(4_000_000_000), usual_bits(900_000_000)) == (4, 16)


def test_a_matrix_whose_columns_do_not_divide_stays_in_floating_point():
    odd = Matrix(mx.random.normal((8, 40)))
    assert odd.quantized(4) is odd
    even = Matrix(mx.random.normal((8, 64))).quantized(4)
    assert even.shape == (8, 64) and even.quantized(8) is even
    # the same numbers, dequantised in another order
    assert mx.allclose(even.rows(mx.array([3, 1])), even.floating().weight[mx.array([3, 1])])
    assert mx.allclose(even.part(slice(2, 5)).floating().weight, even.floating().weight[2:5])


def test_quantized_weights_need_a_quantization_block_in_the_config():
    case = Case("01_v1_full")
    parts = mx.quantize(case.weights.pop("fc.weight"), group_size=64, bits=4)
    case.weights |= {f"fc.{part}": array for part, array in zip(("weight", "scales", "biases"), parts, strict=True)}
    with pytest.raises(UserError, match="quantization"):
        case.drafter()


@pytest.mark.parametrize("name", ["fc.weight", "norm.weight", "layers.1.mlp.down_proj.weight", "layers.0.self_attn.k_norm.weight"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name(name, bad):
    case = Case("01_v1_full")
    array = case.weights[name]
    case.weights[name] = mx.where(mx.arange(array.size).reshape(array.shape) == 5, bad, array)
    for bits in (16, 4):
        with pytest.raises(UserError, match=f"“{name}” contains NaN or infinity"):
            case.drafter(bits=bits)


@pytest.mark.parametrize("name", ["candidate_selector.successor_codebook", "layers.1.mlp_conv.base_kernel"])
def test_dflash2_weights_that_are_not_finite_are_refused_by_name(name):
    case = Case("06_dflash2")
    case.weights[name] = case.weights[name] * float("nan")
    with pytest.raises(UserError, match=f"“{name}” contains NaN or infinity"):
        case.drafter()


def mismatched(case: Case, change: str) -> None:
    match change:
        case "lacks":
            del case.weights["layers.1.self_attn.q_norm.weight"]
        case "shape":
            case.weights["layers.1.mlp.gate_proj.weight"] = mx.zeros((33, 64))
        case "left over":
            case.weights["layers.2.mlp.gate_proj.weight"] = mx.zeros((32, 64))
        case "not in floating point":
            case.weights["norm.weight"] = mx.zeros((64,), mx.uint8)
        case "d2t":
            case.weights["d2t"] = mx.zeros((7,), mx.int64)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("lacks", "lack “layers.1.self_attn.q_norm.weight”"),
        ("shape", r"“layers.1.mlp.gate_proj.weight” has shape \[33, 64\]"),
        ("left over", "the tensor “layers.2.mlp.gate_proj.weight”"),
        ("not in floating point", "“norm.weight” is stored as uint8"),
        ("d2t", "“d2t” has shape"),
    ],
)
def test_tensors_that_do_not_match_the_config_are_refused_by_name(change, words):
    case = Case("01_v1_full")
    mismatched(case, change)
    with pytest.raises(UserError, match=words):
        case.drafter()


class TestFolders:
    """Folders with an invalid drafter; the engine is usable afterwards."""

    @pytest.fixture
    def pair(self):
        return GOLDEN / "e2e_qwen3"

    @pytest.fixture
    def drafter(self, tmp_path, pair):
        """A copy of the pair's drafter as (config, weights), and what saves it."""
        config = json.loads((pair / "drafter" / "config.json").read_text(encoding="utf-8"))
        weights = dict(mx.load(str(pair / "drafter" / "model.safetensors")))

        def save():
            folder = tmp_path / "drafter"
            folder.mkdir(exist_ok=True)
            (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
            mx.save_safetensors(str(folder / "model.safetensors"), weights)
            return folder

        return config, weights, save

    def refused(self, pair, folder) -> str:
        engine = loaded(pair / "target", pair / "drafter")
        with pytest.raises(UserError) as error:
            list(engine.load(pair / "target", folder))
        said = str(error.value)
        assert "\n" not in said
        for _ in engine.load(pair / "target", pair / "drafter"):
            pass
        assert len(reply(engine, tokens((5, 6, 7), max_tokens=4, ignore_eos=True)).tokens) == 4
        return said

    def test_weights_that_are_not_finite(self, pair, drafter):
        _, weights, save = drafter
        weights["norm.weight"] = weights["norm.weight"] * float("nan")
        assert "“norm.weight”" in self.refused(pair, save())

    def test_a_tensor_of_another_shape(self, pair, drafter):
        _, weights, save = drafter
        weights["fc.weight"] = weights["fc.weight"][:, :64]
        assert "“fc.weight”" in self.refused(pair, save())

    def test_a_header_with_an_unknown_dtype(self, pair, drafter):
        *_, save = drafter
        file = save() / "model.safetensors"
        file.write_bytes(file.read_bytes().replace(b'"F32"', b'"F99"'))
        assert "model.safetensors" in self.refused(pair, file.parent)

    def test_a_mask_embedding_that_needs_python(self, pair, drafter):
        *_, save = drafter
        folder = save()
        (folder / "mask_embedding.pt").write_bytes(b"")
        assert "mask_embedding.pt" in self.refused(pair, folder)

    def test_python_files_in_the_folder_are_never_run(self, pair, drafter, tmp_path):
        config, _, save = drafter
        config["auto_map"] = {"AutoModel": "dflash.DFlashDraftModel", "AutoConfig": "configuration.Config"}
        folder, ran = save(), tmp_path / "ran"
        for name in ("dflash", "configuration", "modeling_dflash", "__init__"):
            (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').write('x')\n", encoding="utf-8")
        engine = loaded(pair / "target", folder)
        assert len(reply(engine, tokens((5, 6, 7), max_tokens=9, ignore_eos=True)).tokens) == 9
        assert engine.pair.info.why_plain is None
        assert not ran.exists()

    @pytest.mark.parametrize(("asked", "words"), [(4, "4 bit"), (8, "8 bit"), (16, "float32"), (None, "float32")])
    def test_the_pair_reports_the_drafters_bits_and_the_text_does_not_depend_on_them(self, pair, asked, words):
        engine = loaded(pair / "target", pair / "drafter")
        prompt = tokens(tuple(range(5, 29)), max_tokens=40, ignore_eos=True)
        expected = reply(engine, prompt).tokens
        for _ in engine.load(pair / "target", pair / "drafter", asked):
            pass
        assert engine.pair.info.drafter_weights == words
        assert reply(engine, prompt).tokens == expected
