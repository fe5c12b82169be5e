"""Chat templates are foreign programs: rendering ends in time, in bounded memory and with one message, or is unchanged."""

import io
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.tokenizer_utils import TokenizerWrapper
from transformers import AutoTokenizer

from mlx_engine.cli.main import main
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.events import Finished, PairInfo
from mlx_engine.contract.requests import CountTokens, GenerationRequest, LoadPair, Message
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.formats import chat_prompt, chat_text, template_child, template_sandbox
from mlx_engine.formats.template_sandbox import TemplateProcess, cancelled_by, renderer
from mlx_engine.hardware import child_process
from mlx_engine.models.library.pair import demo_pair
from tests.examples import sampled
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.formats import made_tokenizers
from tests.mlx_engine.formats.made_tokenizers import made
from tests.mlx_engine.mcp.running_servers import is_running, wait_until

ASKED = (Message("system", "Be brief."), Message("user", "Hi\nthere"), Message("assistant", "Yes?", "Hm"), Message("user", "Why?"))
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
LAZY = "{% for a in range(99999) | map('string') %}{% for b in 'x' * 99999 %}{{- '' -}}{% endfor %}{% endfor %}"
IN_C = "{{ 5 | round(-10**9) }}"  # one call of a function that Python can't interrupt
DOUBLED = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = "
LARGE = [
    "{{ 'x'.ljust(10**10) }}",
    "{{ 'x'.rjust(9999999999) }}",
    "{{ 'x'.zfill(9999999999) }}",
    "{{ '\\t'.expandtabs(2147483647) }}",
    "{{ 'x' | center(9999999999) }}",
    "{{ 'x\\ny' | indent(9999999999) }}",
    "{{ [1, 2] | tojson(indent=9999999999) }}",
    "{{ [1] | batch(9999999999, 'x') | list }}",
    "{{ 'x' * 9999999999 }}",
    "{{ 9999999999 * [1] }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '%*d' % (9999999999, 1) }}",
    "{{ '%9999999999d' | format(1) }}",
    "{{ '{:9999999999}'.format(1) }}",
    "{{ '{:{}}'.format(1, 9999999999) }}",
    "{{ 'x'.encode() * 9999999999 }}",
    "{{ 'x'.encode().zfill(9999999999) }}",
    "{{ 'x'.encode().ljust(9999999999) }}",
    "{{ (1).to_bytes(9999999999, 'big') }}",
    "{{ ('x' * 99999).replace('x', 'y' * 99999) }}",
    "{{ ('x' * 99999) | replace('x', 'y' * 99999) }}",
    "{{ ('x' * 99999).join(range(99999) | map('string')) }}",
    "{{ range(99999) | map('string') | join('x' * 99999) }}",
    "{% for i in range(99999) %}{{ 'x' * 999999 }}{% endfor %}",
    DOUBLED + "ns.x + ns.x %}{% endfor %}{{ ns.x }}",
    DOUBLED + "ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
    DOUBLED + "ns.x %}{% set x %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = x %}{% endfor %}",
    "{{ 'x' * 2000000 }}",
]
# Take forever, or much memory: which comes first depends on the machine
SHARED = [
    "{{ 9 ** (9 ** 9) }}",
    "{{ (1).from_bytes(('x' * 50000000).encode(), 'big') % 7 ** 9999999 }}",
    *(
        DOUBLED + "[ns.x, ns.x] %}{% endfor %}" + use
        for use in (
            "{{ ns.x }}",
            "{{ ns }}",
            "{{ ns.x | tojson }}",
            "{{ ns.x | string }}",
            "{{ ns.x | trim }}",
            "{{ ns.x | safe }}",
            "{{ [ns.x] | map('string') | list }}",
            "{{ [ns.x] | map('trim') | list }}",
            "{{ [ns.x] | select('lower') | list }}",
            "{{ '' if ns.x is lower }}",
            "{{ '%s' % ns.x }}",
            "{{ '{}'.format(ns.x) }}",
            "{{ raise_exception(ns.x) }}",
            "{% for i in [1] %}{{ loop.changed(ns.x) }}{{ loop.cycle(ns.x) }}{% endfor %}",
        )
    ),
    DOUBLED + "{'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x ~ '' }}",
]
LISTS = "".join(
    f"{{% set {name} = namespace(x=[1]) %}}{{% for i in range(40) %}}{{% set {name}.x = [{name}.x, {name}.x] %}}{{% endfor %}}"
    for name in ("a", "b")
)
TUPLES = LISTS.replace("[", "(").replace("]", ")").replace("(1)", "(1, 2)")
COMPARED = [
    *(LISTS + f"{{{{ 'equal' if {test} }}}}" for test in ("a.x == b.x", "a.x < b.x", "a.x in [b.x]", "a.x is eq(b.x)")),
    LISTS + "{{ [a.x, b.x] | sort | length }}",
    LISTS + "{{ [{'k': a.x}, {'k': b.x}] | sort(attribute='k') | length }}",
    LISTS + "{{ [{'k': a.x}, {'k': b.x}] | groupby('k') | length }}",
    LISTS + "{{ [{'k': a.x}] | selectattr('k', 'eq', b.x) | list | length }}",
    LISTS + "{{ {'k': a.x, 'l': b.x} | dictsort(by='value') | length }}",
    LISTS + "{{ [a.x, b.x] | max | length }}",
    LISTS + "{{ [b.x].index(a.x) }}",
    LISTS + "{% for i in [a.x, b.x] %}{{ loop.changed(i) }}{% endfor %}",
    *(
        TUPLES + use
        for use in (
            "{{ {a.x: 1} | length }}",
            "{{ {}[a.x] }}",
            "{{ {}.get(a.x) }}",
            "{{ 'in' if a.x is in({}) }}",
            "{{ '' if a.x is filter }}",
            "{{ [1] | attr(a.x) }}",
            "{{ dict([(a.x, 1)]) | length }}",
            "{{ dict.fromkeys([a.x]) | length }}",
            "{{ [a.x, b.x] | unique | list | length }}",
        )
    ),
    "{{ ([[1]] * 99999) | sum(start=[1] * 99999) | length }}",
]


def some(templates: list[str], *sampled: int) -> list[Any]:
    """The templates at these places, and in `make test-all` all: one limit of memory and one of time refuses each."""
    return [pytest.param(each, marks=[] if at in sampled else [pytest.mark.long]) for at, each in enumerate(templates)]


def rendered(template: str, cancel: threading.Event | None = None) -> list[int]:
    chat_text._memories.clear()  # what was rendered before
    return chat_prompt.template(made("think", template), ASKED, cancel=cancel)


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """A quarter of the memory, which fills sooner."""
    renderer.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renderer, "memory", renderer.memory // 4)
        yield
    renderer.stop()


@contextmanager
def little_memory() -> Iterator[None]:
    """Check that this process takes little memory itself."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


@pytest.mark.parametrize("template", some(LARGE, 0, 23, 24))
def test_a_template_that_makes_too_much_text_is_refused(template, monkeypatch):
    monkeypatch.setattr(template_sandbox, "SECONDS", 300)  # on a busy machine, filling the memory takes longer than usual
    with little_memory(), pytest.raises(UserError, match="more text than a context can hold") as refused:
        rendered(template)
    assert refused.value.text.code == "chat_template_large"
    assert rendered("{{ messages[1].content }}") == [*b"Hi\nthere"]  # by the next process


@pytest.mark.parametrize("template", some([*SHARED, *COMPARED], 0, 8, 29))
def test_a_template_that_shares_values_is_refused(template, monkeypatch):
    monkeypatch.setattr(template_sandbox, "SECONDS", 0.1)
    with little_memory(), pytest.raises(UserError) as refused:
        rendered(template)
    assert refused.value.text.code in ("chat_template_large", "chat_template_slow")


@pytest.mark.parametrize("template", some([ENDLESS, LAZY, IN_C, "{{ lipsum(n=999999999) }}"], 0, 2))
def test_a_template_that_takes_too_long_is_refused(template, monkeypatch):
    monkeypatch.setattr(template_sandbox, "SECONDS", 0.3)
    with pytest.raises(UserError, match=r"takes longer than 0\.3 seconds") as refused:
        rendered(template)
    assert refused.value.text.code == "chat_template_slow"
    monkeypatch.undo()  # the next process may need longer to start on a busy machine
    assert rendered("{{ messages[1].content }}") == [*b"Hi\nthere"]


def test_a_template_that_keeps_slices_is_refused_by_its_memory():
    with pytest.raises(UserError, match="more text than a context can hold"):
        rendered(
            "{% set s = 'x' * 9999999 %}{% set ns = namespace(l=[]) %}"
            "{% for i in range(999) %}{% set ns.l = ns.l + [s[1:]] %}{% endfor %}"
        )


def test_a_process_that_holds_too_much_memory_is_killed(monkeypatch):
    """As on macOS, which has no limit for it."""
    held = iter((0, 0, 0))
    monkeypatch.setattr(child_process, "footprint", lambda pid: next(held, renderer.memory + 1))
    with pytest.raises(UserError, match="more text than a context can hold"):
        rendered(IN_C)


def test_a_process_that_ends_unexpectedly_is_reported_and_replaced(monkeypatch):
    def killed(pid: int) -> None:  # which can't be read any more
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    with monkeypatch.context() as patched, pytest.raises(UserError, match="ended unexpectedly") as reported:
        patched.setattr(child_process, "footprint", killed)
        rendered("x")
    assert reported.value.text.code == "chat_template_process"
    assert rendered("x") == [*b"x"]
    os.kill(renderer._process.pid, signal.SIGKILL)  # while idle
    renderer._process.wait()
    assert rendered("x") == [*b"x"]


@pytest.mark.parametrize("answer", [b"", b"[]", b"3", b"{}", b'{"text": 3}', b'{"reason": []}', b"\xff", b"[" * 99999])
def test_a_process_that_was_taken_over_can_only_answer_wrongly(answer: bytes, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(UserError, match="ended unexpectedly"):
        patched.setattr(renderer, "ask", lambda *given: memoryview(answer))
        rendered("x")


def test_a_process_that_can_not_start_is_reported(monkeypatch):
    renderer.stop()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    renderer.start()
    with pytest.raises(UserError) as reported:
        rendered("x")
    assert reported.value.text.code == "chat_template_process"


def test_the_next_pair_keeps_the_process_and_unloading_ends_it(tmp_path):
    engine, processes = Engine(), []
    for name in "xy":
        assert isinstance([*engine.load(target_with(tmp_path / name, name), None)][-1], PairInfo)
        processes.append(renderer._process)
    process = processes[1]
    assert process is not None and process is processes[0] and process.poll() is None
    engine.unload()
    assert process.returncode is not None and renderer._process is None


ENGINE = """
import sys
from mlx_engine.formats import template_sandbox
idle, busy = (template_sandbox.TemplateProcess() for _ in range(2))
template_sandbox.SECONDS = 0.5
for process in (idle, busy):
    process.render("x", {})
    print(process._process.pid, flush=True)
template_sandbox.SECONDS = 2
busy.render(sys.argv[1], {})
"""


def test_processes_end_with_the_engine_that_was_killed():
    """An idle one by the end of its input, and a busy one by its own alarm."""
    engine = subprocess.Popen([sys.executable, "-c", ENGINE, IN_C], stdout=subprocess.PIPE, text=True)
    assert engine.stdout
    children = [int(engine.stdout.readline()) for _ in range(2)]
    engine.kill()
    with engine:
        pass
    wait_until(lambda: not any(map(is_running, children)))


def test_the_process_starts_from_the_bundle(monkeypatch, tmp_path):
    """There `sys.executable` is the app, which runs the module after `--child`."""
    app = tmp_path / "Slipstream"
    app.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m app "$@"\n')
    app.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(app))
    monkeypatch.chdir(Path(__file__).parents[3])
    ours = TemplateProcess()
    try:
        assert ours.render("{{ a }}", {"a": "b"}) == "b"
    finally:
        ours.stop()


def test_templates_know_the_local_time(monkeypatch):
    monkeypatch.setenv("TZ", "Nowhere-9:30")
    there, ours = timezone(timedelta(hours=9, minutes=30)), TemplateProcess()
    before = datetime.now(there)
    try:
        shown = ours.render("{{ strftime_now('%H:%M') }}", {})
    finally:
        ours.stop()
    assert shown in (before.strftime("%H:%M"), datetime.now(there).strftime("%H:%M"))  # the child has few other variables


def test_modules_in_the_current_folder_are_not_run(monkeypatch, tmp_path):
    (tmp_path / "jinja2.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    ours = TemplateProcess()
    try:
        assert ours.render("{{ a }}", {"a": "b"}) == "b"
    finally:
        ours.stop()


def target_with(folder: Path, template: str, rules: dict[str, Any] | None = None) -> Path:
    """A copy of the tiny target with another chat template and other rules of its tokenizer."""
    target = shutil.copytree(GOLDEN / "e2e_qwen3" / "target", folder / "target")
    settings = json.loads((target / "tokenizer_config.json").read_text())
    (target / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": template}))
    tokenizer = json.loads((target / "tokenizer.json").read_text())
    (target / "tokenizer.json").write_text(json.dumps(tokenizer | (rules or {})))
    return target


@pytest.mark.parametrize("template", [ENDLESS, IN_C])
def test_stop_ends_rendering(template):
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(WorkCancelled):
        rendered(template, cancel)
    wait_until(lambda: renderer._process is None)  # it was killed


def test_a_reply_stopped_while_its_chat_renders_is_finished(tiny, monkeypatch):
    monkeypatch.setattr(tiny.pair, "tokenizer", made("think", ENDLESS))
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    (end,) = tiny.generate(GenerationRequest(messages=ASKED), cancel)
    assert isinstance(end, Finished) and end.reason == "cancelled" and end.stats.prompt_tokens == 0


@pytest.mark.parametrize(
    ("request_", "template"), [(GenerationRequest(messages=ASKED), ENDLESS), (CountTokens(GenerationRequest(ASKED)), IN_C)]
)
def test_cancelling_a_job_ends_its_rendering(tmp_path, monkeypatch, request_, template):
    host, rendering = EngineHost(Engine), threading.Event()
    monkeypatch.setattr(template_sandbox, "cancelled_by", lambda cancel: (cancel and rendering.set(), cancelled_by(cancel))[1])
    try:
        loading = to_iter(host, LoadPair(target_with(tmp_path, template)))
        assert isinstance([*loading][-1], PairInfo)
        runs: list[Run] = []
        threading.Thread(target=lambda: (rendering.wait(60), time.sleep(0.2), runs[0].cancel())).start()
        ends = [*to_iter(host, request_, runs.append)]
        assert [event.reason for event in ends if isinstance(event, Finished)] == (["cancelled"] if len(ends) else [])
        assert not any(isinstance(event, TokenCount) for event in ends)
    finally:
        assert host.wait(60)


@pytest.mark.parametrize(("command", "template"), [("generate", ENDLESS), ("chat", IN_C)])
def test_ctrl_c_ends_rendering_in_the_terminal(tmp_path, monkeypatch, capsys, command, template):
    @contextmanager
    def pressed(cancel: threading.Event | None) -> Iterator[None]:
        """Press Ctrl-C once the pair is loaded, unless rendering ends before."""
        key = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        if cancel is not None:
            key.start()
        try:
            with cancelled_by(cancel):
                yield
        finally:
            key.cancel()

    monkeypatch.setattr(template_sandbox, "cancelled_by", pressed)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n/dflash\n"))
    target = target_with(tmp_path, template)
    prompt = ["Hi"] if command == "generate" else []
    assert main([command, *prompt, "--target", str(target)], Engine) == (130 if command == "generate" else 0)
    shown = capsys.readouterr()
    assert not shown.out.strip() and "takes longer" not in shown.err and "Traceback" not in shown.err
    assert command == "generate" or "DFlash is off" in shown.err  # the chat went on


def test_stop_ends_the_search_for_boundaries():
    tokenizer = made("think", "{% if messages|length > 4 %}" + ENDLESS + "{% endif %}x")
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(WorkCancelled):
        chat_prompt.render(tokenizer, GenerationRequest(messages=ASKED), cancel)


def test_a_template_of_many_openings_is_searched_in_linear_time():
    began = time.thread_time()
    assert not chat_text.takes_effort(made("think", "{%" * 200_000))
    assert time.thread_time() - began < 9


def test_a_long_reason_is_cut():
    with pytest.raises(UserError, match="rejects this chat: xxx") as rejected:
        rendered("{{ raise_exception('x' * 999999) }}")
    assert len(str(rejected.value)) < 2000


# Rendering in the child gives what transformers gives

TEMPLATES = [
    *(getattr(made_tokenizers, name) for name in ("CHATML", "QWEN3", "OPENS_THINKING", "DEEPSEEK", "HARMONY", "GEMMA")),
    "{{ messages }}{{ none }}{{ 1.5 }}{{ true }}{{ [1, 'a'] ~ {'b': 2} ~ none }}{{ undefined_name }}",
    "{{ messages | tojson }}{{ messages | tojson(indent=2) }}{{ messages[0] | string }}",
    "{{ tools | tojson(sort_keys=true, separators=(',', ':'), ensure_ascii=true) }}{{ documents }}{{ tools is none }}",
    "{{ messages | map(attribute='role') | join(', ') }}",
    "{{ messages[-1].content | indent(4, true) }}{{ messages[-1].content.replace('\\n', '<br>') | trim | upper }}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + m.content|length %}{% endfor %}{{ ns.n*9 }}",
    "{{ '{:>5}|{}'.format('a', 7) }}{{ '%05d' | format(3) }}{{ 'ab' * 3 }}{{ [0] * 2 }}{{ 'a-b'.split('-') | join('+') }}",
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m('y') | safe }}{{ '<' | e }}{{ 200000 | default(3) }}{{ x | default(131072) }}",
    "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% filter upper %}b{% endfilter %}{{ 'a%sb' % 3 ** 2 }}",
    "{{ messages | selectattr('role', 'equalto', 'user') | list }}",
    "{{ messages[0] == messages[0], 1 < 2 < 3, 'a' in 'ab', {'a': 1}['a'], {(1, 2): 3}[1, 2], messages.index(messages[-1]) }}",
    "{{ 3 is eq(3), 'a' is in('ab'), [3, 1] | sort, [[1], [2]] | sum(start=[]), [1, 2] | sum, [3, 1] | max, x == none }}",
    "{{ messages | groupby('role') | length }}{{ {'b': 1, 'a': 2} | dictsort }}",
    "{{ 'a b c' | wordwrap(2) }}{{ 'abc' | truncate(300000) }}{{ range(5) | batch(2, 'x') | list }}{{ 'x'.center(5) }}",
    "  {% if true %}\n  a\n  {%- endif %}\n{% for m in messages %}\n{% if loop.first %}{% continue %}{% endif %}{{ m.role }}\n"
    "{% if loop.index > 2 %}{% break %}{% endif %}{% endfor %}\n",
    "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ messages[-1].content }}{% endgeneration %}{{ x }}",
    "{{ raise_exception('No ' ~ messages[0].role) }}",
    "{{ lipsum(n=1)[:0] }}{{ strftime_now('%Y') }}{{ dict(a=1) }}",
    "{{ dict.fromkeys('ab', 2) }}{{ namespace({'a': 1}, self=2).self }}",
    "{{ namespace(_a=1) }}",
    "{% set ns = namespace(a=1) %}{% set ns._b = 1 %}",
    "{{ messages.append(1) }}",
    "{{ ''.__class__ }}",
    "{{ messages[0].__class__.__mro__ }}",
    "{{ dict.mro }}{{ dict.__class__ }}{{ namespace.__init__ }}",
    "{% if %}",
    "{{ 1 / 0 }}",
    "{{ messages | tojson(indent='x' * 3) }}{{ undefined_name.attribute }}",
    "{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ enable_thinking }}{{ add_generation_prompt }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
]
TOOL = {"type": "function", "function": {"name": "größe", "parameters": {"type": "object", "properties": {"x": {"type": "null"}}}}}
CHATS: list[list[dict[str, Any]]] = [
    [chat_text._turn(message, {}) for message in ASKED],
    [{"role": "user", "content": "a\r\n\u2028\x00\x7f<|im_end|>{{ 1 }}{% raw %}\U0001f600\u0301é\ufeff"}],
    [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, None, True]}}}]}],
    [{"role": "tool", "content": [{"type": "text", "text": "x"}, {"type": "image"}], "tool_call_id": "1"}],
    [{"role": "user", "content": 7}, {"role": "assistant", "content": "\ud83d", "reasoning": "why"}],
]


def same_as_theirs(tokenizer: TokenizerWrapper, messages: list[dict[str, Any]], **options: Any) -> str:
    """The text or the error of a rendering, which must be the same by the child and by transformers."""
    found = []
    for render in (partial(template_sandbox.render_chat, tokenizer), partial(tokenizer.apply_chat_template, tokenize=False)):
        try:
            found.append(render(messages, **options))
        except Exception as error:
            found.append(f"error: {error}".partition(" while calling")[0])  # where a recursion is cut off differs
    private = {error: error.startswith("error: ") and "underscore" in error for error in found}
    assert found[0] == found[1] or all(private.values())  # in words of our own
    return found[0]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_normal_template_renders_as_by_transformers(template):
    tokenizer = made("think", template)
    for messages, tools, reply in itertools.product(CHATS, (None, [TOOL]), (True, False)):
        options = {"tools": tools, "documents": [{"title": "t", "text": "x"}] if tools else None}
        same_as_theirs(tokenizer, messages, add_generation_prompt=reply, enable_thinking=reply, **options)


@pytest.mark.parametrize("folder", [demo_pair()[0], *sorted(GOLDEN.glob("e2e_*/target"))], ids=lambda folder: folder.parent.name)
def test_published_templates_render_as_by_transformers(folder):
    tokenizer = TokenizerWrapper(AutoTokenizer.from_pretrained(folder))
    for messages in CHATS:
        same_as_theirs(tokenizer, messages, add_generation_prompt=True)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(messages=st.lists(st.dictionaries(st.sampled_from(["role", "content", "thinking", "x"]), VALUES), min_size=1), tools=VALUES)
@sampled(12)
def test_odd_content_renders_as_by_transformers(messages, tools):
    template = "{{ messages }}{{ messages | tojson }}{{ x }}{{ x | tojson }}{{ messages | map(attribute='content') | list }}"
    same_as_theirs(made("think", template), messages, x=tools)


def test_rendering_imports_nothing_large():
    code = "import sys, mlx_engine.formats.template_child\n"
    code += "sys.exit(len({'transformers', 'mlx', 'numpy', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(template_child.__file__).parents[2]).returncode == 0
