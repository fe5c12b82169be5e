"""Tiny pairs of each cache kind, whose targets write what a scripted model would."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from mlx_engine.contract.events import Event, Finished, LoadProgress, PairInfo
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.engine.engine import Engine
from tests.agents.scripted_model import ScriptedModel, Step
from tests.mlx_engine import tiny_families
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.formats.made_tokenizers import QWEN3_TOOLS

VOCABULARY = 4096
CONTEXT = 1 << 16
KINDS = {"dense": "qwen3", "sliding window": "llama", "recurrent": "qwen3_5"}


def written(step: Step, thinking: bool) -> str:
    """Return the text of a reply in the template's format."""
    text = f"<think>\n{step.thinking}\n</think>\n\n{step.text}" if thinking and step.thinking else step.text
    gap = "\n" if step.tool and step.text else ""
    call = f'{gap}<tool_call>\n{{"name": "{step.tool}", "arguments": {step.arguments}}}\n</tool_call>' if step.tool else ""
    return f"{text}{call}<|im_end|>"


def save_tokenizer(folder: Path, texts: Sequence[str]) -> None:
    """Write a tokenizer whose tokens are common in `texts`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    markers = ("<think>", "</think>", "<tool_call>", "</tool_call>")
    added = [AddedToken(text, special=True, normalized=False) for text in ("<|im_start|>", "<|im_end|>")]
    added += [AddedToken(text, special=False, normalized=False) for text in markers]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY - len(added), initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens(added)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "chat_template": QWEN3_TOOLS}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"clean_up_tokenization_spaces": False}))


def tiny_pair(kind: str, folder: Path, texts: Sequence[str]) -> Engine:
    """Return an engine with a random pair whose target has this kind of cache."""
    name = KINDS[kind]
    config = json.loads(json.dumps(tiny_families.CONFIGS[name]))
    for part in (config, config.get("text_config", {})):
        if "vocab_size" in part:
            part |= {"vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT}
            part |= {"num_attention_heads": 1, "num_key_value_heads": 1}  # attention takes most of the time
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_families.CONFIGS, name, config)
        patch.setattr(tiny_families, "VOCABULARY", VOCABULARY)
        folder.mkdir()
        tiny_families.save(name, folder / "target")
        tiny_families.save_drafter(name, folder / "drafter")
    save_tokenizer(folder / "target", texts)
    return loaded(folder / "target", folder / "drafter")


@contextmanager
def writing(tokens: Sequence[int]) -> Iterator[None]:
    """Let the target write these tokens as its next reply."""
    verify, begin = Chooser.verify, list[int]()

    def forced(self: Chooser, logits: mx.array, drafts: Any, first_position: Any, noise: Any) -> Any:
        begin.extend([first_position] if not begin else [])
        at = first_position - begin[0]
        wanted = [*tokens[at : at + logits.shape[0]]]
        wanted += [0] * (logits.shape[0] - len(wanted))
        return verify(self, 1e4 * (mx.arange(logits.shape[1]) == mx.array(wanted)[:, None]), drafts, first_position, noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chooser, "verify", forced)
        yield


@dataclass(frozen=True)
class Turn:
    """The prompt of a turn, in tokens, and how many of them came from the cache."""

    prompt: int
    reused: int


class WritingModel(ScriptedModel):
    """A tiny pair whose target writes the steps, token by token, into real caches.

    Args:
        kind: kind of the target's cache, one of `KINDS`.
        folder: where the pair is written.
        texts: what the tokenizer is made for.

    Attributes:
        turns: the turns with tools.
    """

    def __init__(self, kind: str, folder: Path, texts: Sequence[str], script: Sequence[Step]) -> None:
        super().__init__(script, CONTEXT)
        self._kind, self._folder, self._texts = kind, folder, texts
        self._engine: Engine | None = None
        self.turns: list[Turn] = []

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        self._engine = tiny_pair(self._kind, self._folder, self._texts)  # on the host's thread, which owns the arrays
        yield self._engine.pair.info

    def unload(self) -> None:
        if self._engine is not None:
            self._engine.unload()

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        if not request.tools:
            yield from super().generate(request, cancel)
            return
        assert self._engine is not None
        self.requests.append(request)
        text = written(self._step(request), request.thinking)
        tokens = self._engine.pair.tokenizer.encode(text, add_special_tokens=False)
        with writing(tokens):
            for event in self._engine.generate(request, cancel):
                yield event
                if isinstance(event, Finished):
                    assert event.stats.tokens == len(tokens)
                    self.turns.append(Turn(event.stats.prompt_tokens, event.stats.reused_tokens))
