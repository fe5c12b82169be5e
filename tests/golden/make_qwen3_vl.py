"""Make the reference outputs of a tiny random Qwen3-VL with transformers. They are in `vision/qwen3_vl`.

    python -m tests.golden.make_qwen3_vl FOLDER

Needs torch 2.13.0 and transformers 5.23.0, in an environment of their own. Prompts, pictures, and tokenizer are those of
`vision/qwen3_5`. Hidden states are what the next layer reads, with what deepstack has added.
"""

import copy
import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found]
from safetensors.torch import save_file
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from tests.golden.vision_features import pixels

SOURCE = Path(__file__).parent / "vision" / "qwen3_5"
SHARED = ("preprocessor_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
TAPS, SHOWN = [0, 1, 3], "image_start"  # SHOWN has hidden states
SEED = 11
TEXT = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 288,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "mrope_interleaved": True, "mrope_section": [6, 5, 5]},
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": 258,
    "pad_token_id": 256,
}
VISION = {
    "depth": 4,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "out_hidden_size": 64,
    "num_position_embeddings": 64,
    "deepstack_visual_indexes": [0, 2],
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def make_model() -> Any:
    """Return the model, with weights that make logits differ.

    Replies consist of letters.
    """
    tokens = {"image_token_id": 262, "video_token_id": 263, "vision_start_token_id": 259, "vision_end_token_id": 260}
    config = Qwen3VLConfig(text_config=TEXT, vision_config=VISION, tie_word_embeddings=False, **tokens)
    config._attn_implementation = "eager"
    model = Qwen3VLForConditionalGeneration(config).to(torch.float32).eval()
    draw = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=draw)
            if weight.ndim == 1:
                weight.copy_((1.0 if "norm" in name and name.endswith("weight") else 0.0) + 0.1 * noise)
            else:
                weight.copy_(noise * (1.0 if "embed" in name else weight[0].numel() ** -0.5))
        # The first element stays positive, and lets only letters win, which the tokenizer encodes as the same tokens
        text, head = model.model.language_model, model.lm_head.weight
        text.embed_tokens.weight[:, 0] = 4.0
        for layer in text.layers:
            layer.self_attn.o_proj.weight[0] = layer.mlp.down_proj.weight[0] = 0.0
        text.norm.weight[0] = 1.0
        head.mul_(2.5)[:, 0] = -6.0
        head[32:127, 0] = 6.0
    return model


def patches(name: str, picture: dict[str, Any]) -> torch.Tensor:
    """Return a picture's prepared pixels, which must be those of the reference processor."""
    rgb = pixels(SOURCE, name, picture)
    x = ((rgb / 255).astype(np.float32) - np.float32(0.5)) / np.float32(0.5)
    rows, columns = rgb.shape[0] // 32, rgb.shape[1] // 32
    split = x.reshape(rows, 2, 16, columns, 2, 16, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    made = np.repeat(split[:, :, :, :, :, None], 2, axis=5).reshape(rows * columns * 4, -1)
    assert sha256(made.tobytes()).hexdigest() == picture["pixel_values_sha256"], name
    return torch.from_numpy(made)


class Reference:
    """The model, and the pictures that it is asked about."""

    def __init__(self, model: Any, described: dict[str, Any]) -> None:
        self.model, self.images = model, described["images"]
        self.patches = {name: patches(name, picture) for name, picture in self.images.items()}

    def _inputs(self, tokens: list[int], names: list[str]) -> dict[str, Any]:
        ids = torch.tensor([tokens])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "mm_token_type_ids": (ids == 262).int()}
        if names:
            inputs["pixel_values"] = torch.cat([self.patches[name] for name in names])
            inputs["image_grid_thw"] = torch.tensor([self.images[name]["grid_thw"] for name in names])
        self.model.model.rope_deltas = None
        return inputs

    def logits(self, tokens: list[int], names: list[str]) -> torch.Tensor:
        """Return the logits of one pass over all tokens, [S, V]."""
        found: torch.Tensor = self.model(**self._inputs(tokens, names), use_cache=False).logits[0]
        return found

    def reply(self, tokens: list[int], names: list[str], count: int) -> tuple[list[int], float]:
        """Return the greedy reply, and the smallest gap between the best and the second logit."""
        limits = {"max_new_tokens": count, "min_new_tokens": count, "do_sample": False}
        made = self.model.generate(
            **self._inputs(tokens, names), **limits, return_dict_in_generate=True, output_logits=True, pad_token_id=256
        )
        tops = torch.cat(made.logits).topk(2).values
        return made.sequences[0, len(tokens) :].tolist(), float((tops[:, 0] - tops[:, 1]).min())


def hidden_states(reference: Reference, tokens: list[int], names: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the input of the first layer [S, H], and the hidden states of the taps [taps, S, H]."""
    text, seen = reference.model.model.language_model, dict[int, torch.Tensor]()
    parts = [*text.layers, text.norm]
    hooks = [
        part.register_forward_pre_hook(
            lambda _, given, named, at=at: seen.__setitem__(at, (given or (named["hidden_states"],))[0][0]), with_kwargs=True
        )
        for at, part in enumerate(parts)
    ]
    reference.logits(tokens, names)
    for hook in hooks:
        hook.remove()
    return seen[0], torch.stack([seen[tap + 1] for tap in TAPS])


@torch.no_grad()
def main(folder: Path) -> None:
    torch.set_num_threads(1)
    folder.mkdir(parents=True)
    for name in SHARED:
        shutil.copy(SOURCE / name, folder)
    model = make_model()
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    described = json.loads((SOURCE / "cases.json").read_text(encoding="utf-8"))
    described |= {"family": "qwen3_vl", "seed": SEED, "model_class": type(model).__name__, "taps": TAPS, "measured": {}}
    reference, arrays, margins = Reference(model, described), dict[str, torch.Tensor](), list[float]()
    for name, picture in described["images"].items():
        found = model.model.visual(reference.patches[name], grid_thw=torch.tensor([picture["grid_thw"]]))
        if name in ("tiny", "wide", "alpha"):
            arrays[f"image.{name}.features"] = torch.cat([found.pooler_output, *found.deepstack_features], dim=-1)
    for case in described["cases"]:
        length = len(case["input_ids"]) + len(case["output_ids"])
        added = case["turn2"]["input_ids"][length:]
        for name, asked in ((case["name"], case), (f"{case['name']}.turn2", case["turn2"])):
            if asked is case["turn2"]:
                asked["input_ids"] = [*case["input_ids"], *case["output_ids"], *added]
            replied, least = reference.reply(asked["input_ids"], asked["images"], described["new_tokens"])
            asked |= {"output_ids": replied, "output_text": "".join(map(chr, replied)), "min_margin": round(least, 4)}
            margins.append(least)
            arrays[f"{name}.prompt_logits"] = reference.logits(asked["input_ids"], asked["images"])[-2:].clone()
        case["hidden_rows"] = case["hidden_rows"] if case["name"] == SHOWN else []
        case["onepass_rows"] = 0
        if case["hidden_rows"]:
            first, hidden = hidden_states(reference, case["input_ids"], case["images"])
            arrays[f"{SHOWN}.input_embeds"] = first[case["hidden_rows"]].clone()
            arrays[f"{SHOWN}.hidden"] = hidden[:, case["hidden_rows"]].clone()
    described["measured"] = {"smallest_margin": min(margins)}
    (folder / "cases.json").write_text(json.dumps(described, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    save_file({name: copy.copy(array).contiguous() for name, array in arrays.items()}, folder / "arrays.safetensors")
    print(f"{len(described['cases'])} cases, smallest margin {min(margins):.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
