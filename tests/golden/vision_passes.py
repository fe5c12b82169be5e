"""The passes of one target with images of the reference outputs: input embeddings, hidden states, logits, texts."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import mlx.core as mx
from mlx_lm.utils import load_model

from mlx_engine.decoding.prompt_images import PromptImages
from mlx_engine.models.configs.families import FAMILIES
from mlx_engine.targets.image_rows import ImageRows
from mlx_engine.targets.target import Target
from tests.golden.drafter_case import Differences
from tests.golden.vision_features import load, pixels

if TYPE_CHECKING:
    from tests.golden.vision_case import Prompt


class SeeingTarget:
    """The target of a folder, and the features of its pictures: stored ones, or the tower's.

    Args:
        folder: what transformers saved.
        described: its cases.json.
        stored: its arrays.
    """

    def __init__(self, folder: Path, described: dict[str, Any], stored: dict[str, mx.array]) -> None:
        model, config = load_model(folder)
        model.set_dtype(mx.float32)
        family = FAMILIES[config["model_type"]]
        self.target = Target(model, config["text_config"]["vocab_size"], family, described["taps"])
        self.rules, tower = load(folder)
        self.features = {
            name: tower(self.rules.prepare(pixels(folder, name, picture))) if features is None else features
            for name, picture in described["images"].items()
            for features in [stored.get(f"image.{name}.features")]
        }

    def images(self, prompt: "Prompt") -> PromptImages:
        rules = self.rules
        return PromptImages(tuple(prompt.spans), lambda span: self.features[span.digest], rules.mask, rules.sections)

    def run(self, prompt: "Prompt", tokens: list[int], images: PromptImages | None = None) -> tuple[mx.array, mx.array, mx.array]:
        """Return logits, hidden states [taps, S, H], and the input of the first layer [S, H], of one pass from the start."""
        images, target, inputs = images or self.images(prompt), self.target, list[mx.array]()
        place = ImageRows.place
        with mock.patch.object(ImageRows, "place", lambda *given: inputs.append(place(*given)) or inputs[-1]):
            given = mx.array(tokens)
            logits, features = target.forward_tapped(given, target.caches(), images=images.rows(0, len(tokens)))
        hidden = features.reshape(len(tokens), len(target._tap_order), -1).transpose(1, 0, 2)
        return logits, hidden, inputs[0][0] if inputs else target.embed(given[None])[0]

    def continued(self, prompt: "Prompt", known: int, length: int) -> mx.array:
        """Return the logits of the prompt's tokens from `known` on, whose pass continues the cached ones."""
        images, caches, tokens = self.images(prompt), self.target.caches(), mx.array(prompt.described["input_ids"])
        self.target.forward(tokens[:length], caches, images=images.rows(0, length))
        caches.shift = images.shift(length)
        self.target.forward(tokens[length:known], caches)
        return self.target.forward(tokens[known:], caches, images=images.rows(known, len(tokens)))


def check(found: Differences, seeing: SeeingTarget, prompts: Iterable["Prompt"], stored: dict[str, mx.array]) -> None:
    """Compare the passes of all prompts."""
    first = 0
    for prompt in prompts:
        asked = prompt.described
        ids, replied = asked["input_ids"], asked["output_ids"]
        length, first = first, len(ids)
        last = stored[f"{prompt.name}.prompt_logits"]
        logits, hidden, inputs = seeing.run(prompt, ids + replied[:-1])
        found.compare(prompt.name, "prompt_logits", logits[: len(ids)][-len(last) :], last)
        found.same(prompt.name, "text", mx.argmax(logits[len(ids) - 1 :], axis=-1).tolist(), replied)
        if (wanted := stored.get(f"{prompt.name}.onepass_logits")) is not None:
            found.compare(prompt.name, "onepass_logits", logits[len(ids) - 1 :][: len(wanted)], wanted)
        if "hidden_rows" in asked:  # a first turn
            at = mx.array(asked["hidden_rows"], mx.int32)
            for field, value in (("input_embeds", inputs[at]), ("hidden", hidden[:, at])):
                if at.size:
                    found.compare(prompt.name, field, value, stored[f"{prompt.name}.{field}"])
        else:  # a second turn, after what the first one has cached: its prompt, and its reply but for the last token
            logits = seeing.continued(prompt, length + len(replied) - 1, length)
            found.compare(prompt.name, "continued_logits", logits[-len(last) :], last)
