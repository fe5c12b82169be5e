"""Translations: complete, with the right values, and not clipped on any screen."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QApplication

from app.session.pair_survey import survey
from app.storage import wording
from app.storage.comparison_record import short_verdict
from app.storage.database import FILE, open_store
from app.text import language
from app.text.language import LANGUAGES, tr
from app.views.machine.this_mac import duration, rate
from app.views.tools.server_card import server_title
from app.views.transcript.call_card import server_name
from app.views.transcript.welcome import Welcome, examples
from app.widgets.theme import Theme
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import LoadPair, ToolCall
from mlx_engine.mcp.config import BUILTINS
from mlx_engine.mcp.record import CallRecord
from tests.app.conftest import Running, Session
from tests.app.scripted_engine import PAIR, refuse
from tests.examples import SAMPLE

ROOT = Path(__file__).parents[2]
PATIENCE_S = 240  # for busy machines
OTHERS = [code for code in LANGUAGES if code != "en"]


@cache
def tool():  # type: ignore[no-untyped-def]
    """packaging/translations.py, which is not part of a package. It reads the code once."""
    spec = importlib.util.spec_from_file_location("translations", ROOT / "packaging" / "translations.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.texts, module.engine_texts = cache(module.texts), cache(module.engine_texts)
    return module


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    language.use("en")


def test_every_text_is_translated_into_every_language() -> None:
    texts = tool().texts()
    assert len(texts) > 400
    assert set(tool().LANGUAGES) == set(OTHERS)
    for code in OTHERS:
        translated = tool().read(tool().ts_file(code))
        assert [text for text in texts if text not in translated] == [], "run packaging/translations.py and translate what is new"
        assert [text for text in translated if text not in texts] == [], "run packaging/translations.py"


@pytest.mark.parametrize("code", OTHERS)
def test_translations_have_the_values_and_endings_of_their_source(code: str) -> None:
    for text, found in tool().read(tool().ts_file(code)).items():
        assert set(re.findall(r"{(\w+)}", found)) <= set(re.findall(r"{(\w+)}", text)), text
        assert ("…" in text) == ("…" in found), text
        assert text.endswith("\n") == found.endswith("\n"), text
        assert ("&" in text.replace("&&", "")) == ("&" in found.replace("&&", "")), text
        if code == "de":
            assert text.startswith(" ") == found.startswith(" "), text


def test_the_commands_of_a_menu_have_different_access_keys(start: Callable[..., Running]) -> None:
    menus = start(loaded=False).window.menuBar().actions()
    for code in ("en", *OTHERS):
        translated = {} if code == "en" else tool().read(tool().ts_file(code))
        for menu in menus:
            titles = [action.text().replace("&This Computer", "This Computer") for action in menu.menu().actions()]
            texts = [translated.get(title, title).replace("&&", "") for title in titles]
            keys = [text[text.index("&") + 1].casefold() for text in texts if "&" in text]
            assert len(keys) == len(set(keys)), f"{code}: {[text for text in texts if '&' in text]}"


def test_each_translation_uses_one_word_for_one_thing() -> None:
    def texts(code: str) -> dict[str, str]:
        read, file = tool().read, tool().ts_file(code)
        return {**read(file), **read(file, language.ENGINE_CONTEXT)}

    german = {text: re.sub(r"\bdes (\w+ )?Tokens\b", "", found) for text, found in texts("de").items()}  # the genitive ends in -s
    assert [found for found in german.values() if "Tokens" in found] == []  # plural: Token
    verbs = "Beende|Füge|Gib|Kürze|Lade|Lösche|Prüfe|Starte|Versuche|Verwende|Warte|Wähle"
    informal = rf"(?:^|[.!?,;] |\bund )({verbs})\b|\b(du|dein\w*)\b(?!&)"
    assert [found for found in german.values() if re.search(informal, found, re.I)] == []  # Sie
    assert [
        found for found in german.values() if re.search(r"über dieser|Nachrichten darüber", found)
    ] == []  # also "about": oberhalb
    chinese = texts("zh_CN")
    assert [found for found in chinese.values() if re.search(r"(?i)(?<![\w/{])tokens?(?![\w}.])", found)] == []  # 词元, 令牌
    assert [text for text, found in chinese.items() if "复制" in found] == ["Dupl&icate"]  # to copy: 拷贝, as on a Mac
    assert [found for found in chinese.values() if re.search("加载|保存|此电脑", found)] == []  # 载入, 存储, 这台电脑


@pytest.mark.parametrize("code", OTHERS)
def test_translations_of_engine_texts_use_only_values_that_exist(code: str) -> None:
    templates = tool().engine_texts()
    for text, found in tool().read(tool().ts_file(code), language.ENGINE_CONTEXT).items():
        assert set(re.findall(r"{(\w+)", found)) <= set(re.findall(r"{(\w+)", templates[text][0])), text


def test_texts_that_only_the_terminal_shows_are_not_translated() -> None:
    templates = tool().engine_texts()
    assert not {file for _, file in templates.values() if re.match(r"mlx_engine/(bench/|terminal/|cli\.py)", file)}
    assert "no_token_typed" not in templates and "invalid_token" in templates


def test_every_engine_text_is_translated_into_every_language() -> None:
    for code in OTHERS:
        translated = tool().read(tool().ts_file(code), language.ENGINE_CONTEXT)
        assert translated.keys() == tool().engine_texts().keys(), "run packaging/translations.py and translate what is new"


TERMINAL = re.compile(
    r"\bslipstream [a-z]|\bhf auth|\b(HF|SSL|HTTPS|SLIPSTREAM|HUGGING\w*)_[A-Z]|NO_PROXY|(?<!\w)--\w|`|\bmake run|apt-get"
    r"|pip install|\{command\}|[Tt]erminal|environment variable|Umgebungsvariable|环境变量|终端"
)


def test_no_text_of_the_window_names_a_terminal_command() -> None:
    templates = {code: text for code, (text, _) in tool().engine_texts().items()}
    assert set(language.WINDOW_TEXTS) <= set(templates)
    for code, text in language.WINDOW_TEXTS.items():
        assert set(re.findall(r"{(\w+)}", text)) <= set(re.findall(r"{(\w+)", templates[code])), code
    shown = {**{text: text for text in tool().texts()}, **templates, **language.WINDOW_TEXTS}
    for code in OTHERS:
        for context in (language.CONTEXT, language.ENGINE_CONTEXT):
            shown |= {f"{code} {key}": text for key, text in tool().read(tool().ts_file(code), context).items()}
    queue_only = {"invalid_queue_command", *(f"{code} invalid_queue_command" for code in OTHERS)}  # between programs
    shown = {key: text for key, text in shown.items() if "slipstream worker" not in text}  # on another Mac, without a window
    assert {key: text for key, text in shown.items() if TERMINAL.search(text) and key not in queue_only} == {}
    assert all(TERMINAL.search(templates[code]) for code in ("hub_offline", "no_keychain", "repo_gated"))


def test_an_engine_text_has_its_own_wording_in_the_window() -> None:
    error = UserError("repo_gated", "{repo} is gated at {page}; run “slipstream models login”.", repo="a/b", page="P")
    assert language.translated(error.text) == (
        "a/b is gated. Accept its conditions at P, then enter your access token in Settings ▸ Models."
    )
    assert "slipstream models login" in str(error)


def test_no_text_is_translated_at_import() -> None:
    """It would keep the language of that moment."""

    def at_import(node: ast.AST) -> Iterator[ast.AST]:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                defaults = [*inner.args.defaults, *(one for one in inner.args.kw_defaults if one is not None)]
                yield from (one for default in defaults for one in ast.walk(default))
            else:
                yield inner
                yield from at_import(inner)

    for file, tree in tool().trees("app").items():
        calls = [node for node in at_import(tree) if isinstance(node, ast.Call)]
        assert not [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "tr"], file


@pytest.mark.parametrize("code", OTHERS)
def test_the_compiled_translations_are_up_to_date(code: str) -> None:
    compiled = QTranslator()
    assert compiled.load(str(language.FOLDER / f"slipstream_{code}.qm"))
    for context in (language.CONTEXT, language.ENGINE_CONTEXT):
        for text, found in tool().read(tool().ts_file(code), context).items():
            assert compiled.translate(context, text) == found, "run packaging/translations.py"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("zh_CN", "zh_CN"),
        ("zh-Hans-SG", "zh_CN"),
        ("zh-Hant-TW", ""),
        ("zh-HK", ""),
        ("fr", ""),
        ("", ""),
    ],
)
def test_language_names_are_recognized(name: str, expected: str) -> None:
    assert language._known(name) == expected


def test_texts_are_translated_and_filled_in(restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    assert language.use("de") == "de" and tr("Close") == "Schließen"
    assert tr("{count} tokens", count="{7}") == "{7} Token"
    assert tr("Untranslated {sign}", sign="x") == "Untranslated x"
    assert language.use("en") == "en" and tr("Close") == "Close"
    assert language.use("tlh") in LANGUAGES


CHECKS = [
    ("screens", "de"),
    pytest.param("screens", "zh_CN", marks=pytest.mark.long),  # shorter than German; other tests find missing translations
    pytest.param("sizes", "en", marks=pytest.mark.long),  # shorter than German
    ("sizes", "de"),
    pytest.param("sizes", "zh_CN", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str], subprocess.Popen[str]]]:
    """All selected checks, which mostly wait, at the same time; each in a process that has the language from its beginning."""
    started = {}
    selected = [item.callspec.params for item in request.session.items if "running" in getattr(item, "fixturenames", ())]
    for check, code in [(each["check"], each["code"]) for each in selected]:
        env = {"SLIPSTREAM_LANGUAGE": code, "QT_QPA_PLATFORM": "offscreen", "TMPDIR": str(tmp_path_factory.mktemp(check))}
        started[check, code] = subprocess.Popen(
            [sys.executable, "-m", f"tests.app.{check}", *(["--few"] if check == "sizes" and SAMPLE else []), code],
            env={**os.environ, **env},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    yield started
    for process in started.values():
        process.kill()


@pytest.mark.parametrize(("check", "code"), CHECKS)
def test_every_screen_is_translated_and_not_clipped(
    check: str, code: str, running: dict[tuple[str, str], subprocess.Popen[str]]
) -> None:
    """`sizes` covers window and text sizes."""
    said, _ = running[check, code].communicate(timeout=PATIENCE_S)
    assert running[check, code].returncode == 0, said


def test_the_screen_check_finds_clipped_and_english_texts(qtbot) -> None:  # type: ignore[no-untyped-def]
    from PySide6.QtWidgets import QLabel, QWidget

    from tests.app.screens import clipped, outside, overlapping, untranslated

    screen = QWidget()
    qtbot.addWidget(screen)
    screen.resize(400, 200)
    label = QLabel("Eine lange Zeile, die nicht passt", screen)
    label.setFixedWidth(60)
    wrapped = QLabel("Eine Zeile, die umbrochen werden muss und dann zu hoch ist", screen)
    wrapped.setWordWrap(True)
    wrapped.setFixedSize(80, 20)
    QLabel("Close the chat", screen).move(0, 100)
    screen.show()
    assert [one.split(" ")[1] for one in clipped(screen)] == ["narrow", "low:"]
    assert untranslated(screen) == ["Close the chat"]
    wrapped.move(20, 40)
    assert outside(screen) == overlapping(screen) == []
    wrapped.move(20, 95)
    label.move(380, 0)
    assert len(overlapping(screen)) == 1 and len(outside(screen)) == 1


def test_the_demo_pair_has_the_same_name_everywhere(
    restored: None, begin: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use("de")
    app = begin()
    (listed,) = [pair.name for pair in survey().candidates if pair.id == "demo"]
    assert listed == app.loader.pair.name == "Demo-Paar"


@pytest.mark.parametrize("code", ["en", "de", "zh_CN"])
def test_the_examples_of_the_demo_pair_are_english(
    code: str, restored: None, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo pair understands only English, and the page didn't say so."""
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use(code)
    welcome = Welcome(Theme(qapp))
    welcome.show_state(None, PAIR, demo=True)
    in_english, translations = [[example[at] for example in examples()] for at in (1, 2)]
    assert [card.prompt for card in (welcome.calculation, *welcome.cards)] == in_english
    assert (tr("The demo model understands only English.") in welcome.about_demo.text()) == (code != "en")
    welcome.show_state(None, PAIR, demo=False)
    assert [card.prompt for card in (welcome.calculation, *welcome.cards)] == translations
    assert code == "en" or not set(in_english) & set(translations)


@pytest.mark.parametrize(
    ("code", "expected"), [("en", "One. Two? Three."), ("de", "One. Two? Three."), ("zh_CN", "One。Two?Three.")]
)
def test_sentences_are_joined_as_in_the_language(code: str, expected: str, restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chinese sentences were joined with a Latin period and a space."""
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use(code)
    assert language.sentences("One", "", "Two?", "Three.") == expected
    assert language.sentences("", "") == ""


def test_notices_are_joined_as_in_chinese(
    restored: None, begin: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use("zh_CN")
    app = begin()
    app.engine.load_error = refuse("无法载入。")
    app.activity.use(LoadPair(Path("/somewhere")))
    app.until(lambda: app.loader.progress is None)
    assert app.notices[-1] == "无法载入。" + tr("No models are loaded.")
    (tmp_path / FILE).write_text("Not a database")
    opened = open_store(tmp_path)
    opened.store.close()
    assert "。" in opened.notice and "。 " not in opened.notice


def test_built_in_tools_have_the_same_names_in_cards_and_settings(restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use("de")
    for config, name in zip(BUILTINS, ("Rechner", "Dateien", "Dokumente"), strict=True):
        record = CallRecord(ToolCall("call_1", "tool", "{}"), config.name)
        assert server_name(record) == server_title(config) == name


def test_a_comparison_uses_the_number_format_of_the_language(restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use("de")
    assert (language.figures(0.25), language.figures(1.0), language.figures(12.345)) == ("0,25", "1", "12,3")
    assert [short_verdict(one) for one in ("identical", "tie", "different")] == ["identisch", "Gleichstand", "verschieden"]
    assert (wording.rate(14.5), wording.rate_range(14.5, 1200)) == ("14,5 Token/s", "14,5–1.200 Token/s")
    fit = EngineText.of("speed_plain", "{read:,.2f} {bandwidth:,.0f}", read=1234.5, bandwidth=1000.0)
    assert "1.234,50 GB" in language.translated(fit) and "1.000 GB/s" in language.translated(fit)
    needed = EngineText.of("fit_ok", "{needed} {budget}", context=2048, needed="4.3 GB", budget="19.0 GB")
    assert "4,3 GB" in language.translated(needed) and "2.048" in language.translated(needed)
    assert (rate(8.1e12), duration(0.0184), duration(0.62)) == ("8,1 TFLOP/s", "18,4 ms", "620 ms")
