"""Pairs that the engine's tests run: a tiny one from the reference files, and the demo pair."""

import json
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.utils import load_model

from mlx_engine.cli import main as command
from mlx_engine.engine import relief
from mlx_engine.engine.engine import Engine
from mlx_engine.models.library.pair import demo_pair

# Where the first thread that used MLX adds work to a CPU stream after an error, MLX raises the error, and may count the work as
# running forever. With more than ten such counts, an evaluation waits without end (MLX 0.32). So another thread is the first here:
# its errors are raised where results are awaited, as on a GPU.
_first = threading.Thread(target=mx.synchronize)
_first.start()
_first.join()

GOLDEN = Path(__file__).parents[1] / "golden"
WINDOW = 20  # positions that a drafter sees which is made to slide


def loaded(target: Path, drafter: Path | None) -> Engine:
    engine = Engine()
    for _ in engine.load(target, drafter):
        pass
    return engine


def by_mlx_lm(target: Path) -> nn.Module:
    """mlx-lm's own model of a target, which nothing of ours has touched; in float32, as everything is on a CPU."""
    model, _ = load_model(target)
    model.set_dtype(mx.float32)
    return model


@pytest.fixture(autouse=True)
def no_memory_pressure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no program that runs next to the tests change what they measure."""
    monkeypatch.setattr(relief, "sensors", SimpleNamespace(memory_pressure=lambda: "normal"))


@pytest.fixture(autouse=True)
def engines_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a command's engine on a busy machine, instead of ending the tests' process without it."""
    monkeypatch.setattr(command, "_GRACE_S", 300.0)


@pytest.fixture(scope="session")
def tiny() -> Engine:
    """The reference Qwen3 pair: 4 layers, block 8, 128 tokens; acceptance from 0 to 3 per round."""
    return loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")


@pytest.fixture(scope="session")
def tiny2() -> Engine:
    """The reference Qwen3.5 pair: DFlash 2, gated delta layers and full attention, block 8, 132 tokens."""
    return loaded(GOLDEN / "e2e_qwen3_5" / "target", GOLDEN / "e2e_qwen3_5" / "drafter")


def save_dspark(folder: Path) -> Path:
    """Copy a reference DSpark drafter, with blocks of 8 and one layer that sees 20 positions back."""
    shutil.copytree(GOLDEN / "dspark_3" / "drafter", folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"block_size": 8, "sliding_window_non_causal": True}
    config["transformer_layer_config"] |= {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 20}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def sliding(drafter: Path, folder: Path) -> Path:
    """Copy a drafter, with windows."""
    shutil.copytree(drafter, folder)
    config = json.loads((folder / "config.json").read_text())
    layers = ["sliding_attention"] * config["num_hidden_layers"]
    config |= {"layer_types": layers, "sliding_window": WINDOW, "use_sliding_window": True}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def loaded_case(name: str, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Load a reference pair, a DSpark drafter from `save_dspark`."""
    folder = GOLDEN / name / "drafter"
    return loaded(GOLDEN / name / "target", save_dspark(tmp_path_factory.mktemp(name) / "drafter") if "dspark" in name else folder)


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The tiny pair with a drafter whose layers see 20 positions back."""
    drafter = sliding(GOLDEN / "e2e_qwen3" / "drafter", tmp_path_factory.mktemp("windows") / "drafter")
    return loaded(GOLDEN / "e2e_qwen3" / "target", drafter)


@pytest.fixture(scope="session")
def dspark(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The reference Llama pair with a DSpark drafter: d2t, block 8, 123 tokens."""
    return loaded_case("dspark_3", tmp_path_factory)


@pytest.fixture(scope="session")
def eagle3() -> Engine:
    """The reference Qwen3 pair with an EAGLE-3 drafter: d2t, block 8, 122 tokens."""
    return loaded(GOLDEN / "eagle3_2" / "target", GOLDEN / "eagle3_2" / "drafter")


@pytest.fixture(scope="session")
def mtp() -> Engine:
    """The reference Qwen3.5 target with the MTP head of its own folder: block 8, 122 tokens."""
    return loaded(GOLDEN / "mtp_2" / "target", GOLDEN / "mtp_2" / "target")


@pytest.fixture(scope="session")
def assistant() -> Engine:
    """The reference Gemma 4 pair with an assistant: block 8, a window of 16, 128 tokens."""
    return loaded(GOLDEN / "gemma4_assistant_2" / "target", GOLDEN / "gemma4_assistant_2" / "drafter")


@pytest.fixture(scope="session")
def demo() -> Engine:
    return loaded(*demo_pair())


@pytest.fixture(scope="session")
def tiny_by_mlx_lm() -> nn.Module:
    return by_mlx_lm(GOLDEN / "e2e_qwen3" / "target")


@pytest.fixture(scope="session")
def demo_by_mlx_lm() -> nn.Module:
    return by_mlx_lm(demo_pair()[0])
