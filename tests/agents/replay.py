"""Replays of what agents sent, through an engine whose target writes the recorded replies."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from mlx_engine.decoding.sampling import Chooser
from mlx_engine.engine import Engine
from mlx_engine.events import Commit, Event, Finished
from mlx_engine.requests import GenerationRequest, ToolCall
from mlx_engine.server.past_calls import RestoringDoor
from tests.agents.scripted_model import Step
from tests.mlx_engine import tiny_families
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.made_tokenizers import QWEN3_TOOLS

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


def replay(engine: Engine, requests: Sequence[GenerationRequest], steps: Sequence[Step]) -> list[Turn]:
    """Return the turns of a session. The target writes `steps`."""
    ids, turns = dict[str, str](), list[Turn]()
    events = list[Event]()

    class Door:
        def submit(self, request: Any, deliver: Any) -> Any:
            for event in engine.generate(request):
                deliver(event)

        def close(self, closed: Any = None) -> None: ...

    door = RestoringDoor(Door())
    engine.snapshots.drop()
    for request, step in zip(requests, steps, strict=True):
        messages = tuple(
            replace(
                message,
                call_id=ids.get(message.call_id, ""),
                calls=tuple(replace(call, id=ids[call.id]) for call in message.calls),
            )
            for message in request.messages
        )
        tokens = engine.pair.tokenizer.encode(written(step, request.thinking), add_special_tokens=False)
        events.clear()
        with writing(tokens):
            door.submit(replace(request, messages=messages, max_tokens=2048), events.append)
        assert "".join(event.text for event in events if isinstance(event, Commit) and event.channel == "answer") == step.text
        calls = [event for event in events if isinstance(event, ToolCall)]
        assert [(call.name, json.loads(call.arguments)) for call in calls] == (
            [(step.tool, json.loads(step.arguments))] if step.tool else []
        )
        ids |= {f"call{len(turns) + 1:05}": call.id for call in calls}
        end = events[-1]
        assert isinstance(end, Finished) and end.stats.tokens == len(tokens)
        turns.append(Turn(end.stats.prompt_tokens, end.stats.reused_tokens))
    return turns
