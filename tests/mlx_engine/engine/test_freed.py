"""However a request ends, unloading then frees the models immediately, without Python's cyclic garbage collector.

The window collects cycles rarely, so a cycle would keep the weights while the next pair is loaded.
"""

import gc
import json
import logging
import queue
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Commit, Event, Failed, Finished, PairInfo, PrefillProgress, WorkProgress
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    CountTokens,
    GenerationRequest,
    LoadPair,
    Message,
    Request,
    SavePrompts,
    TuneDrafter,
    UnloadPair,
    with_drafters,
)
from mlx_engine.decoding import prefill
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.formats import template_sandbox
from mlx_engine.hardware.ledger import MemoryLedger
from mlx_engine.loading import loaded_pair, target_model
from tests.mlx_engine.asking import tokens
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.targets.target_passes import before_each_pass

TEMPLATE = """
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('No system message') }}{% endif %}
{%- for message in messages %}
{%- if 't9' in message['content'] %}{{ raise_exception('Not t9') }}{% endif %}
{%- if message['content'] == 't10' %}{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}
{{- message['content'] + ' ' }}{% endfor %}"""
CASES = json.loads((GOLDEN / "e2e_qwen3" / "cases.json").read_text(encoding="utf-8"))["cases"]
PROMPT, SHORT = (CASES[at]["prompt_ids"] for at in (0, 4))
REJECTED = tuple((Message("user", f"t{number}"), Message("user", "t9")) for number in range(20, 40))
CONSTANTS = 1 << 12  # bytes that mlx-lm keeps
SCHEMA = '{"not": {}}'
FULL = "[malloc] Unable to allocate 9 bytes"


class Client:
    """A front end of an engine on its own thread."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        self.target, self.drafter = folder / "target", folder / "drafter"
        self.engine = Engine()
        self.host = EngineHost(lambda: self.engine)
        self.held: list[weakref.ref[Any]] = []

    def ask(
        self,
        request: Request,
        deliver: Callable[[Event], None] = lambda _: None,
        cancel_at: type | None = None,
        cancel_when: threading.Event | None = None,
    ) -> list[Event]:
        """Return the events of a request, which is canceled at the first event of a type, or once a signal is set."""
        inbox: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        submitted, runs = threading.Event(), list[Run]()

        def receive(event: Event | None) -> None:
            if cancel_at is not None and isinstance(event, cancel_at):
                submitted.wait()
                runs[0].cancel()
            inbox.put(event)
            if event is not None:
                deliver(event)

        runs.append(self.host.submit(request, receive))
        submitted.set()
        if cancel_when is not None:
            cancel_when.wait()
            runs[0].cancel()
        return list(iter(inbox.get, None))

    def load(self, drafter: Path | None, request: LoadPair | None = None) -> list[Event]:
        seen = self.ask(request or LoadPair(self.target, drafter))
        if isinstance(seen[-1], PairInfo):
            pair = self.engine.pair
            self.held += map(weakref.ref, (pair, pair.target, pair.model.model, *([pair.drafter] if pair.drafter else [])))
        return seen

    def code(self, request: Request, **options: Any) -> str:
        """Return how a request ended: the reason, the code of the failure, or the kind of the last event."""
        return ended(self.ask(request, **options))

    def failing(self, request: Request, number: int, kind: type[Exception], reason: str) -> str:
        """Return how a request ended if this pass of the target and all later ones raise an error."""
        done = []

        def act(rows: int) -> None:
            done.append(rows)
            if len(done) >= number:
                raise kind(reason)

        with pytest.MonkeyPatch.context() as patch:
            before_each_pass(self.engine.pair.target, patch, act)
            return self.code(request)


def ended(seen: list[Event]) -> str:
    last = seen[-1] if seen else None
    return last.reason if isinstance(last, Finished) else last.code if isinstance(last, Failed) else type(last).__name__


def chat(*contents: str, **options: Any) -> GenerationRequest:
    roles = ("system", "user")[2 - len(contents) :]
    messages = tuple(Message(role, content) for role, content in zip(roles, contents, strict=True))  # type: ignore[arg-type]
    return GenerationRequest(messages, **{"max_tokens": 4, **options})


def some(**options: Any) -> GenerationRequest:
    return tokens(PROMPT, **{"max_tokens": 12, "reuse": True, **options})


def damaged(folder: Path, name: str, to: str) -> Path:
    """Copy a checkpoint, whose weights lack their first tensor, or have a value that is not a number."""
    copy = shutil.copytree(folder, folder.parent / name)
    weights = dict(mx.load(str(copy / "model.safetensors")))
    first = min(weights)
    if to == "lack":
        del weights[first]
    else:
        weights[first] = weights[first] * float("nan")
    mx.save_safetensors(str(copy / "model.safetensors"), weights)
    return copy


def fail_to_raise(_: Event) -> None:
    raise ValueError("the front end")


def together(client: Client) -> list[str]:
    """Run replies that end in four ways at the same time."""
    requests = (some(), some(schema=SCHEMA), some(stop=("t",)), chat("t9"))
    inboxes: list[queue.SimpleQueue[Event | None]] = [queue.SimpleQueue() for _ in requests]
    for request, inbox in zip(requests, inboxes, strict=True):
        client.host.submit(request, inbox.put)
    return [ended(list(iter(inbox.get, None))) for inbox in inboxes]


def out_of_memory(client: Client, number: int, **options: Any) -> str:
    return client.failing(some(**options), number, RuntimeError, FULL)


def bug(client: Client, number: int) -> str:
    return client.failing(some(), number, ValueError, "a bug")


def schema(client: Client) -> str:
    """Refuse a schema with the demo pair, whose tokenizer supports grammars."""
    client.load(None, LoadPair())
    return client.code(some(schema=SCHEMA))


def no_room(client: Client) -> str:
    client.patch.setattr(MemoryLedger, "fits", lambda *_: False)
    return client.code(some())


def slow_template(client: Client) -> str:
    client.patch.setattr(template_sandbox, "SECONDS", 0.2)
    return client.code(chat("t10"))


def compare_drafters(client: Client, *drafters: Path) -> str:
    return client.code(Compare((some(),), with_drafters(client.target, drafters)))


def saved(client: Client) -> str:
    client.ask(SavePrompts(client.folder / "prompts", 10**9))
    return client.code(some(chat="a"))


def canceled_before(client: Client) -> str:
    """Cancel a reply that waits for another job."""
    busy, canceled = threading.Event(), threading.Event()
    inbox: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    client.host.submit(CountTokens(GenerationRequest((Message("user", "t3"),))), lambda _: busy.set() or canceled.wait())
    busy.wait()
    client.host.submit(some(), inbox.put).cancel()
    canceled.set()
    return ended(list(iter(inbox.get, None)))


def canceled_in_template(client: Client) -> str:
    began, exchange = threading.Event(), template_sandbox.TemplateProcess._exchange

    def watched(*arguments: Any) -> bytes:
        began.set()
        return exchange(*arguments)

    client.patch.setattr(template_sandbox.TemplateProcess, "_exchange", watched)
    return client.code(chat("t10"), cancel_when=began)


def without_drafter(client: Client) -> str:
    client.load(None)
    return client.code(some(exact=True))


def load_full(client: Client, at: int) -> str:
    """Run out of memory at the nth check of the weights: the target's, then the drafter's."""
    check, done = target_model.refuse_nonfinite, []

    def full(*arguments: Any) -> None:
        done.append(arguments[1])
        if len(done) == at:
            raise RuntimeError(FULL)
        check(*arguments)

    for module in (target_model, loaded_pair):
        client.patch.setattr(module, "refuse_nonfinite", full)
    client.ask(UnloadPair())
    return ended(client.load(client.drafter))


def load_damaged(client: Client, what: str, to: str) -> str:
    client.ask(UnloadPair())
    copy = damaged(getattr(client, what), "damaged", to)
    target, drafter = (copy, client.drafter) if what == "target" else (client.target, copy)
    return client.code(LoadPair(target, drafter))


def load_fastest(client: Client) -> str:
    return client.code(LoadPair(client.target, damaged(client.drafter, "damaged", "lack"), auto=True))


ENDINGS: dict[str, tuple[Callable[[Client], Any], Any]] = {
    "eos": (lambda client: client.code(tokens(SHORT, max_tokens=64)), "eos"),
    "length": (lambda client: client.code(some()), "length"),
    "plain": (lambda client: client.code(some(mode="plain")), "length"),
    "sampled": (lambda client: client.code(some(temperature=1.0, logprobs=3, seed=1, ignore_eos=True)), "length"),
    "stop": (lambda client: client.code(some(stop=("t",))), "stop_string"),
    "canceled before": (canceled_before, "cancelled"),
    "canceled in the prompt": (lambda client: client.code(some(), cancel_at=PrefillProgress), "cancelled"),
    "canceled in the reply": (lambda client: client.code(some(max_tokens=999), cancel_at=Commit), "cancelled"),
    "canceled in the template": (canceled_in_template, "cancelled"),
    "schema": (schema, "bad_schema"),
    "grammar": (lambda client: client.code(some(schema=SCHEMA)), "no_grammars"),
    "bias": (lambda client: client.code(some(logit_bias=((10**6, 1.0),))), "unknown_bias_token"),
    "context": (lambda client: client.code(tokens([3] * 4096)), "context_full"),
    "context that a beginning fills": (lambda client: client.code(chat("t4 " * 100_000)), "context_exceeded"),
    "width": (lambda client: client.code(some(width=99)), "integer_out_of_range"),
    "token": (lambda client: client.code(tokens([10**6])), "unknown_prompt_token"),
    "template": (lambda client: client.code(chat("t9")), "chat_template_rejects"),
    "template that rejects at first": (lambda client: client.code(chat("t3", "t4")), "length"),
    "slow template": (slow_template, "chat_template_slow"),
    "count": (lambda client: client.code(CountTokens(GenerationRequest((Message("user", "t9"),)))), "chat_template_rejects"),
    "front end that raises": (lambda client: client.code(some(), deliver=fail_to_raise), "length"),
    "bug in the prompt": (lambda client: bug(client, 1), "internal"),
    "bug in the reply": (lambda client: bug(client, 4), "internal"),
    "memory for the prompt": (lambda client: out_of_memory(client, 1), "reply_memory"),
    "memory for the reply": (lambda client: out_of_memory(client, 4), "reply_memory"),
    "memory for plain steps": (lambda client: out_of_memory(client, 4, mode="plain"), "reply_memory"),
    "no room": (no_room, "reply_memory"),
    "exact": (lambda client: client.code(some(exact=True)), "length"),
    "exact without a drafter": (without_drafter, "exact_without_drafter"),
    "together": (together, ["length", "no_grammars", "stop_string", "chat_template_rejects"]),
    "compare": (lambda client: client.code(Compare((some(),))), "CompareResult"),
    "compare that fails": (lambda client: client.code(Compare((some(schema=SCHEMA),))), "no_grammars"),
    "compare drafters": (
        lambda client: compare_drafters(client, client.drafter, damaged(client.drafter, "damaged", "lack")),
        "CompareResult",
    ),
    "compare damaged drafters": (
        lambda client: compare_drafters(client, damaged(client.drafter, "damaged", "nan")),
        "no_drafter_to_compare",
    ),
    "calibrate": (lambda client: client.code(Calibrate(), cancel_at=WorkProgress), "WorkProgress"),
    "tune": (lambda client: client.code(TuneDrafter(((Message("user", "t9"),),))), "too_few_prompts"),
    "tune with chats that are rejected": (lambda client: client.code(TuneDrafter(REJECTED)), "chat_template_rejects"),
    "saved": (saved, "length"),
    "load without a target's tensor": (lambda client: load_damaged(client, "target", "lack"), "weights_do_not_fit"),
    "load a target with NaN": (lambda client: load_damaged(client, "target", "nan"), "weights_not_finite"),
    "load without a drafter's tensor": (lambda client: load_damaged(client, "drafter", "lack"), "drafter_tensor_missing"),
    "load a drafter with NaN": (lambda client: load_damaged(client, "drafter", "nan"), "drafter_tensor_not_finite"),
    "load without memory for the target": (lambda client: load_full(client, 1), "no_memory_to_load"),
    "load without memory for the drafter": (lambda client: load_full(client, 2), "no_memory_to_load"),
    "load the fastest": (load_fastest, "PairInfo"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny pair with the template above, after it was loaded once, which makes what is kept for all."""
    pair = shutil.copytree(GOLDEN / "e2e_qwen3", tmp_path_factory.mktemp("freed") / "pair")
    settings = json.loads((pair / "target" / "tokenizer_config.json").read_text())
    (pair / "target" / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": TEMPLATE}))
    with pytest.MonkeyPatch.context() as patch:
        client = Client(pair, patch)
        client.load(client.drafter)
        assert client.host.wait(60)
    return pair


@pytest.fixture
def client(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    pair = shutil.copytree(files, tmp_path / "pair")  # some tests add to its folder
    monkeypatch.setattr(prefill, "CHUNK", 8)
    logging.disable()  # pytest's handler would keep the traceback of an error
    client = Client(pair, monkeypatch)
    gc.collect()
    gc.disable()
    yield client
    gc.enable()
    client.host.wait(60)
    logging.disable(logging.NOTSET)


# Endings that patch nothing and load nothing else
PLAIN_ENDINGS = [
    name for name, (end, _) in ENDINGS.items() if end.__name__ == "<lambda>" and not {"load", "drafters"} & {*name.split()}
]
OTHER_ENDINGS = [name for name in ENDINGS if name not in PLAIN_ENDINGS]
TOGETHER = 5  # endings with the same pair


@pytest.mark.parametrize(
    "names",
    [
        *(PLAIN_ENDINGS[at : at + TOGETHER] for at in range(0, len(PLAIN_ENDINGS), TOGETHER)),
        *([name] for name in OTHER_ENDINGS),
        *(pytest.param([name], marks=pytest.mark.long) for name in PLAIN_ENDINGS),
    ],
    ids=", ".join,
)
def test_unloading_frees_the_models_after_requests_that_ended_by(names: list[str], client: Client) -> None:
    before = mx.get_active_memory()
    client.load(client.drafter)
    assert mx.get_active_memory() - before > 100 * CONSTANTS
    for name in names:
        end, expected = ENDINGS[name]
        assert end(client) == expected
    client.ask(UnloadPair())
    assert [one() for one in client.held if one() is not None] == []
    assert mx.get_active_memory() - before < CONSTANTS


def test_loading_frees_the_models_first_after_a_failed_reply(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the weights of both pairs would be in memory."""
    read, alive = target_model.load_model, []

    def watched(*arguments: Any, **options: Any) -> Any:
        alive.append(sum(one() is not None for one in client.held))
        return read(*arguments, **options)

    client.load(client.drafter)
    assert client.code(chat("t9")) == "chat_template_rejects" and len(client.held) == 4
    monkeypatch.setattr(target_model, "load_model", watched)
    (client.target / "model.safetensors").touch()
    assert ended(client.load(client.drafter)) == "PairInfo"
    assert alive == [0]


def test_unloading_during_a_reply_frees_the_models(client: Client) -> None:
    client.host.wait(60)
    engine = Engine()
    for _ in engine.load(client.target, client.drafter):
        pass
    held = [weakref.ref(engine.pair), weakref.ref(engine.pair.model.model)]
    running = [engine.steps(some(mode=mode)) for mode in ("plain", "dflash")]
    for _ in range(3):
        assert all(map(next, running))
    engine.unload()
    assert [list(steps) for steps in running] == [[], []]
    assert [one() for one in held] == [None, None]
