"""A float16 target with its drafter, computed on the CPU as a GPU would: in the published dtype."""

import json
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from mlx_engine.loading import target_model
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded


class _AsOnAGpu:
    """MLX, but for the device that loading asks about."""

    def __getattr__(self, name: str) -> object:
        return getattr(mx, name)

    def default_device(self) -> mx.Device:
        return mx.Device(mx.gpu)


def test_a_dflash_2_drafter_of_a_float16_target_drafts_in_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, target = GOLDEN / "e2e_qwen3_5", tmp_path / "target"
    shutil.copytree(pair / "target", target)
    for file in target.glob("*.safetensors"):
        weights = mx.load(str(file))
        assert isinstance(weights, dict)
        mx.save_safetensors(str(file), {name: array.astype(mx.float16) for name, array in weights.items()}, {"format": "mlx"})
    monkeypatch.setattr(target_model, "mx", _AsOnAGpu())
    engine = loaded(target, pair / "drafter")
    assert engine.pair is not None and engine.pair.dtype == mx.float16 and engine.pair.info.drafter_weights == "bfloat16"
    for case in json.loads((pair / "cases.json").read_text())["cases"][:2]:
        request = tokens(case["prompt_ids"], max_tokens=64, width=8, reuse=True)
        first, again = reply(engine, request), reply(engine, request)
        assert first.tokens == again.tokens and again.stats.reused_tokens
        assert first.stats.accepted > 0.9 * sum(case["accepted"]), "as in float32"
