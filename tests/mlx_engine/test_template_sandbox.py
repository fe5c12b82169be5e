"""Chat templates are foreign programs: rendering ends in time, in bounded memory and with one message, or is unchanged."""

import io
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from transformers.utils import chat_template_utils

from mlx_engine import chat, template_sandbox
from mlx_engine.cli import main
from mlx_engine.engine import Engine
from mlx_engine.errors import UserError
from mlx_engine.events import Finished, PairInfo, TokenCount
from mlx_engine.host import EngineHost, Job, events
from mlx_engine.prefix.boundaries import boundaries
from mlx_engine.requests import CountTokens, GenerationRequest, LoadPair, Message
from mlx_engine.template_sandbox import bounded
from tests.mlx_engine import made_tokenizers
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.made_tokenizers import made

ASKED = (Message("system", "Be brief."), Message("user", "Hi\nthere"), Message("assistant", "Yes?", "Hm"), Message("user", "Why?"))
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
LAZY = "{% for a in range(99999) | map('string') %}{% for b in 'x' * 99999 %}{{- '' -}}{% endfor %}{% endfor %}"
DOUBLED = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = "
LARGE = [
    "{{ 'x'.ljust(10**9) }}",
    "{{ 'x'.rjust(width=9999999999) }}",
    "{{ 'x'.zfill(9999999999) }}",
    "{{ '\\t'.expandtabs(9999999999) }}",
    "{{ 'x' | center(9999999999) }}",
    "{{ 'x\\ny' | indent(9999999999) }}",
    "{{ [1, 2] | tojson(indent=9999999999) }}",
    "{{ [1] | batch(9999999999, 'x') | list }}",
    "{{ 'x' * 9999999999 }}",
    "{{ 9999999999 * [1] }}",
    "{{ 9 ** (9 ** 9) }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '%*d' % (9999999999, 1) }}",
    "{{ '%9999999999d' | format(1) }}",
    "{{ '{:9999999999}'.format(1) }}",
    "{{ '{:{}}'.format(1, 9999999999) }}",
    "{{ ('x' * 99999).replace('x', 'y' * 99999) }}",
    "{{ ('x' * 99999) | replace('x', 'y' * 99999) }}",
    "{{ ('x' * 9999).join(range(9999) | map('string')) }}",
    "{{ range(9999) | map('string') | join('x' * 9999) }}",
    "{% for i in range(99999) %}{{ 'x' * 999999 }}{% endfor %}",
    DOUBLED + "ns.x + ns.x %}{% endfor %}{{ ns.x }}",
    DOUBLED + "ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
    DOUBLED + "[ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    DOUBLED + "[ns.x, ns.x] %}{% endfor %}{{ ns }}",
    DOUBLED + "[ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}",
    DOUBLED + "[ns.x, ns.x] %}{% endfor %}{{ ns.x | string }}",
    DOUBLED + "[ns.x, ns.x] %}{% endfor %}{{ '%s' % ns.x }}",
    DOUBLED + "[ns.x, ns.x] %}{% endfor %}{{ '{}'.format(ns.x) }}",
    DOUBLED + "{'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x ~ '' }}",
    DOUBLED + "ns.x %}{% set x %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = x %}{% endfor %}",
]

LISTS = "".join(
    f"{{% set {name} = namespace(x=[1]) %}}{{% for i in range(40) %}}{{% set {name}.x = [{name}.x, {name}.x] %}}{{% endfor %}}"
    for name in ("a", "b")
)
TUPLES = LISTS.replace("[", "(").replace("]", ")").replace("(1)", "(1, 2)")
COMPARED = [
    *(LISTS + f"{{{{ 'equal' if {test} }}}}" for test in ("a.x == b.x", "a.x < b.x", "1 < a.x", "a.x in [b.x]", "a.x is eq(b.x)")),
    LISTS + "{{ [a.x, b.x] | sort | length }}",
    LISTS + "{{ [{'k': a.x}, {'k': b.x}] | sort(attribute='k') | length }}",
    LISTS + "{{ [{'k': a.x}, {'k': b.x}] | groupby('k') | length }}",
    LISTS + "{{ [{'k': a.x}] | selectattr('k', 'eq', b.x) | list | length }}",
    LISTS + "{{ {'k': a.x, 'l': b.x} | dictsort(by='value') | length }}",
    LISTS + "{{ [a.x, b.x] | max | length }}",
    LISTS + "{{ [b.x].index(a.x) }}",
    TUPLES + "{{ {a.x: 1} | length }}",
    TUPLES + "{{ {}[a.x] }}",
    TUPLES + "{{ {}.get(a.x) }}",
    TUPLES + "{{ 'in' if a.x is in({}) }}",
    "{{ ([[1]] * 200000) | sum(start=[]) | length }}",
]


def rendered(template: str, cancel: threading.Event | None = None) -> list[int]:
    return chat.template(made("think", template), ASKED, cancel=cancel)


@pytest.mark.parametrize("template", LARGE + COMPARED)
def test_a_template_that_makes_too_much_text_is_refused_at_once(template):
    began, memory = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match="more text than a context can hold"):
        rendered(template)
    assert time.perf_counter() - began < 9
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 400_000  # KB


@pytest.mark.parametrize(
    "template",
    [
        ENDLESS,
        "{% macro f(n) %}{% for i in 'ab' %}{{ f(n) if n < 0 }}{% endfor %}{% endmacro %}" + ENDLESS.replace("range", "range"),
    ],
)
def test_a_template_that_takes_too_long_is_refused(template, monkeypatch):
    monkeypatch.setattr(template_sandbox, "SECONDS", 0.3)
    began = time.perf_counter()
    with pytest.raises(UserError, match=r"takes longer than 0\.3 seconds"):
        rendered(template)
    assert time.perf_counter() - began < 9


def test_a_template_that_keeps_slices_is_refused_by_its_memory(monkeypatch):
    monkeypatch.setattr(template_sandbox, "_MEMORY", 100 << 20)
    with pytest.raises(UserError, match="more text than a context can hold"):
        rendered(
            "{% set s = 'x' * 9999999 %}{% set ns = namespace(l=[]) %}"
            "{% for i in range(999) %}{% set ns.l = ns.l + [s[1:]] %}{% endfor %}"
        )


def target_with(folder: Path, template: str) -> Path:
    """A copy of the tiny target with another chat template."""
    target = shutil.copytree(GOLDEN / "e2e_qwen3" / "target", folder / "target")
    settings = json.loads((target / "tokenizer_config.json").read_text())
    (target / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": template}))
    return target


def test_placeholder_text_is_not_available():
    with pytest.raises(UserError, match="rejects this chat: 'lipsum' is undefined"):
        rendered("{{ lipsum(n=999999999) }}")


def test_stop_ends_rendering():
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    began = time.perf_counter()
    with pytest.raises(template_sandbox.RenderingCancelled):
        rendered(ENDLESS, cancel)
    assert time.perf_counter() - began < 9


def test_a_reply_stopped_while_its_chat_renders_is_finished(tiny, monkeypatch):
    monkeypatch.setattr(tiny.pair, "tokenizer", made("think", ENDLESS))
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    (end,) = tiny.generate(GenerationRequest(messages=ASKED), cancel)
    assert isinstance(end, Finished) and end.reason == "cancelled" and end.stats.prompt_tokens == 0


@pytest.mark.parametrize("template", [ENDLESS, LAZY])
@pytest.mark.parametrize("request_", [GenerationRequest(messages=ASKED), CountTokens(ASKED)], ids=["reply", "count"])
def test_cancelling_a_job_ends_its_rendering(tmp_path, monkeypatch, request_, template):
    host, rendering = EngineHost(Engine), threading.Event()
    monkeypatch.setattr(chat, "bounded", lambda cancel: (rendering.set(), bounded(cancel))[1])
    try:
        loading = events(host, LoadPair(target_with(tmp_path, template)))
        assert isinstance([*loading][-1], PairInfo)
        jobs: list[Job] = []
        threading.Thread(target=lambda: (rendering.wait(60), time.sleep(0.2), jobs[0].cancel())).start()
        ends = [*events(host, request_, jobs.append)]
        assert [event.reason for event in ends if isinstance(event, Finished)] == (["cancelled"] if len(ends) else [])
        assert not any(isinstance(event, TokenCount) for event in ends)
    finally:
        assert host.wait(60)


@pytest.mark.parametrize("command", ["generate", "chat"])
def test_ctrl_c_ends_rendering_in_the_terminal(tmp_path, monkeypatch, capsys, command):
    def pressed(cancel: threading.Event | None) -> AbstractContextManager[None]:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return bounded(cancel)

    monkeypatch.setattr(chat, "bounded", pressed)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n/dflash\n"))
    target = target_with(tmp_path, ENDLESS)
    prompt = ["Hi"] if command == "generate" else []
    assert main([command, *prompt, "--target", str(target)], Engine) == (130 if command == "generate" else 0)
    shown = capsys.readouterr()
    assert not shown.out.strip() and "takes longer" not in shown.err and "Traceback" not in shown.err
    assert command == "generate" or "DFlash is off" in shown.err  # the chat went on


def test_stop_ends_the_search_for_boundaries():
    tokenizer = made("think", "{% if messages[-1].content in ('0', 'a') %}" + ENDLESS + "{% endif %}x")
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    began = time.perf_counter()
    assert boundaries(tokenizer, GenerationRequest(messages=ASKED), [1, 2, 3], cancel) == ()
    assert time.perf_counter() - began < 9


def test_a_template_of_many_openings_is_searched_in_linear_time():
    began = time.perf_counter()
    assert not chat.takes_effort(made("think", "{%" * 200_000))
    assert time.perf_counter() - began < 9


@pytest.mark.parametrize(
    "template",
    [
        *(getattr(made_tokenizers, name) for name in ("QWEN3", "OPENS_THINKING", "DEEPSEEK", "HARMONY", "GEMMA")),
        "{{ messages }}{{ none }}{{ 1.5 }}{{ true }}{{ [1, 'a'] ~ {'b': 2} ~ none }}{{ undefined_name }}",
        "{{ messages | tojson }}{{ messages | tojson(indent=2) }}{{ messages[0] | string }}",
        "{{ messages | map(attribute='role') | join(', ') }}",
        "{{ messages[1].content | indent(4, true) }}{{ messages[1].content.replace('\\n', '<br>') | trim | upper }}",
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + m.content|length %}{% endfor %}{{ ns.n*9 }}",
        "{{ '{:>5}|{}'.format('a', 7) }}{{ '%05d' | format(3) }}{{ 'ab' * 3 }}{{ [0] * 2 }}{{ 'a-b'.split('-') | join('+') }}",
        "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m('y') | safe }}{{ '<' | e }}{{ 200000 | default(3) }}{{ x | default(131072) }}",
        "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% filter upper %}b{% endfilter %}{{ 'a%sb' % 3 ** 2 }}",
        "{{ messages | selectattr('role', 'equalto', 'user') | list }}",
        "{{ messages[0] == messages[0], 1 < 2 < 3, 'a' in 'ab', {'a': 1}['a'], {(1, 2): 3}[1, 2], messages.index(messages[1]) }}",
        "{{ 3 is eq(3), 'a' is in('ab'), [3, 1] | sort, [[1], [2]] | sum(start=[]), [1, 2] | sum, [3, 1] | max, x == none }}",
        "{{ messages | groupby('role') | length }}{{ {'b': 1, 'a': 2} | dictsort }}",
        "{{ messages | rejectattr('role', 'eq', 'user') | list }}",
        "{{ 'a b c' | wordwrap(2) }}{{ 'abc' | truncate(300000) }}{{ range(5) | batch(2, 'x') | list }}{{ 'x'.center(5) }}",
    ],
)
def test_a_normal_template_renders_exactly_as_without_bounds(template, monkeypatch):
    def outcome() -> object:
        try:
            return rendered(template)
        except UserError as error:
            return str(error)

    ours = outcome()
    monkeypatch.setattr(chat_template_utils, "ImmutableSandboxedEnvironment", ImmutableSandboxedEnvironment)
    assert ours == outcome()
