"""How a target sees images, read from its folder without loading weights."""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import open_regular, read_bounded
from mlx_engine.vision.gemma_rules import GemmaRules
from mlx_engine.vision.image_rules import ImageRules
from mlx_engine.vision.qwen_rules import QwenRules
from mlx_engine.vision.vision_fields import VisionFields, unusable

_QWEN, _QWEN_VL, _GEMMA = ("qwen3_5", "qwen3_5_moe"), ("qwen3_vl",), ("gemma4", "gemma4_unified")
SEEING = frozenset((*_QWEN, *_QWEN_VL, *_GEMMA))  # families of targets that see, if their checkpoint has the tower
# Names and defaults of the IDs: image token, the token before an image, and the one after it
_TOKENS = {
    _QWEN: (("image_token_id", 248_056), ("vision_start_token_id", 248_053), ("vision_end_token_id", 248_054)),
    _QWEN_VL: (("image_token_id", 151_655), ("vision_start_token_id", 151_652), ("vision_end_token_id", 151_653)),
    _GEMMA: (("image_token_id", 258_880), ("boi_token_id", 255_999), ("eoi_token_id", 258_882)),
}
# Published prefixes of the tower's tensors, and their prefixes here. transformers and mlx-vlm name them differently
_PREFIXES = {
    _QWEN: (("visual.", ""), ("vision_tower.", "")),
    _QWEN_VL: (("visual.", ""), ("vision_tower.", "")),
    _GEMMA: tuple((prefix, prefix) for prefix in ("vision_tower.", "vision_embedder.", "embed_vision.")),
}
_LARGEST = 1_000_000  # bytes of a processor's settings
_PACKED = frozenset({"U8", "U16", "U32"})


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a tower in a weight file.

    Attributes:
        name: its name in the file.
        format: its number format, as safetensors calls it.
    """

    file: Path
    name: str
    shape: tuple[int, ...]
    format: str
    bytes: int


def read_rules(folder: Path, config: dict[str, Any]) -> ImageRules:
    """Return how a target sees images.

    Args:
        folder: the target's folder.
        config: the contents of its config.json.

    Raises:
        UserError: why it can't see images.
    """
    family = _family(config)
    if not (stored := tower_tensors(folder, family)):
        raise _without_tower()
    return _rules(config, stored, _processor(folder))


def _family(config: dict[str, Any]) -> str:
    """Return the family of a target that may see.

    Raises:
        UserError: it can't.
    """
    family = str(config.get("model_type"))
    if family not in SEEING:
        template = (
            "Slipstream can't show images to models of the “{family}” family. Choose another target, such as Qwen3.5 or Gemma 4."
        )
        raise UserError("family_without_images", template, family=family)
    if config.get("vision_config") is None:
        raise _without_tower()
    return family


def _rules(config: dict[str, Any], stored: dict[str, StoredTensor], processor: VisionFields) -> ImageRules:
    family = _family(config)
    names = next(names for names in _TOKENS if family in names)
    outer, vision = VisionFields("config.json", config), VisionFields("vision_config", config["vision_config"])
    text = VisionFields("text_config", config.get("text_config") or config)
    vocabulary = text.whole("vocab_size", default=1 << 20, most=1 << 24)
    token, start, end = (outer.whole(name, default=usual, least=0, most=vocabulary - 1) for name, usual in _TOKENS[names])
    if len({token, start, end}) < 3:
        raise unusable("config.json, " + _TOKENS[names][0][0], token, f"≠ {start}, {end}")
    packed = sum(tensor.bytes for tensor in stored.values() if tensor.format in _PACKED)
    values = sum(prod(tensor.shape) for tensor in stored.values() if tensor.format not in _PACKED)
    common = {"family": family, "token": token, "start": start, "end": end, "packed": packed, "values": values}
    common["hidden"] = text.whole("hidden_size")
    if names is not _GEMMA:
        return QwenRules.read(common, vision, processor, text)
    return GemmaRules.read(common, vision, processor, text)


def described_rules(config: dict[str, Any]) -> ImageRules | None:
    """Return how a target sees images, by its config.json.

    The tower counts as one without weights. None if the config doesn't describe it.
    """
    try:
        return _rules(config, {}, VisionFields("preprocessor_config.json", {}))
    except UserError:
        return None


def sees(folder: Path, config: dict[str, Any]) -> bool:
    """Return whether a target sees images, by its folder."""
    try:
        read_rules(folder, config)
    except UserError:
        return False
    return True


def tower_tensors(folder: Path, family: str) -> dict[str, StoredTensor]:
    """Return the tensors of a target's tower by their names here.

    Raises:
        UserError: a file can't be read, or a tensor is stored twice.
    """
    prefixes = next(prefixes for names, prefixes in _PREFIXES.items() if family in names)
    found: dict[str, StoredTensor] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            open_regular(path).close()
            with safe_open(path, framework="np") as tensors:
                for published in tensors.keys():  # noqa: SIM118
                    name = published.removeprefix("model.")
                    for prefix, here in prefixes:
                        if name.startswith(prefix):
                            view, own = tensors.get_slice(published), here + name.removeprefix(prefix)
                            if own in found:
                                raise tower_misfit(folder, EngineText.of("tensor_twice", "“{tensor}” is stored twice", tensor=own))
                            found[own] = StoredTensor(path, published, *_described(view))
        except (OSError, SafetensorError):
            raise tower_file_damaged(path) from None
    return found


def _described(view: Any) -> tuple[tuple[int, ...], str, int]:
    shape, kind = tuple(view.get_shape()), view.get_dtype()
    bits = next((bits for bits in (64, 32, 16) if kind.endswith(str(bits))), 8)
    return shape, kind, prod(shape) * bits // 8


def _processor(folder: Path) -> VisionFields:
    """Return the image processor's settings, from the file that transformers prefers."""
    for file, field in (("processor_config.json", "image_processor"), ("preprocessor_config.json", "")):
        try:
            found = json.loads(read_bounded(folder / file, _LARGEST))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            raise unusable(file, None, "object") from None
        fields = VisionFields(file, found)
        if not field:
            return fields
        if fields.get(field) is not None:
            return fields.block(field)
    return VisionFields("preprocessor_config.json", {})


def tower_file_damaged(file: Path) -> UserError:
    template = "The weights of this model can't be read (“{file}”). Download the model again."
    return UserError("tower_file_damaged", template, file=file.name)


def tower_misfit(folder: Path, reason: EngineText) -> UserError:
    template = (
        "The vision part of “{name}” doesn't match its config.json ({reason}). Download the model again, or choose another one."
    )
    return UserError("tower_does_not_fit", template, name=folder.name, reason=reason)


def _without_tower() -> UserError:
    template = "This copy of the model can't see images, because it lacks the vision part. Choose a copy that includes it."
    return UserError("no_tower", template)
