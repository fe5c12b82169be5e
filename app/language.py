"""The window's language. What the app says itself goes through `tr`. The engine's own sentences, of errors and of
why something cannot be, stay English, and so does all output in a terminal.

Translations lie in resources/translations as Qt's .ts files, and compiled as .qm; packaging/translations.py keeps both up to date.
"""

import os
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QSettings, QTranslator

from mlx_engine.errors import EngineText

FOLDER = Path(__file__).parents[1] / "resources" / "translations"
CONTEXT = "Slipstream"
ENGINE_CONTEXT = "Engine"  # of the translations file: sources are the codes of the engine's texts
LANGUAGES = {"en": "English", "de": "Deutsch", "zh_CN": "简体中文"}  # each in its own words
VARIABLE = "SLIPSTREAM_LANGUAGE"  # overrules the settings, for tests and pictures

_translator = QTranslator()
_of_qt = QTranslator()
_current = "en"


def tr(text: str, **values: object) -> str:
    """The text in the window's language, with {names} filled in."""
    found = _translator.translate(CONTEXT, text) or text
    return found.format(**values) if values else found


def translated(text: EngineText) -> str:
    """An engine's text in the window's language; its English where there is no translation of its code."""
    found = _translator.translate(ENGINE_CONTEXT, text.code) if text.code else ""
    values = {name: translated(value) if isinstance(value, EngineText) else value for name, value in text.values}
    try:
        return found.format(**values) if found else text.message
    except (LookupError, ValueError):  # stored by another version, with other values
        return text.message


def current() -> str:
    """One of `LANGUAGES`."""
    return _current


def use(wanted: str = "system") -> str:
    """Speak this language from now on, or the system's, or English where there is no translation; which one it is. What is shown
    already stays as it is."""
    global _current
    wanted = os.environ.get(VARIABLE) or wanted
    names = QLocale.system().uiLanguages() if wanted not in LANGUAGES else [wanted]
    _current = next((language for name in names if (language := _known(name))), "en")
    QLocale.setDefault(QLocale(_current))
    _translator.load("")  # empties it
    _of_qt.load("")
    if _current != "en":
        _translator.load(str(FOLDER / f"slipstream_{_current}.qm"))
        _of_qt.load(f"qtbase_{_current}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
    return _current


def number(value: float, digits: int = 0) -> str:
    """As the language writes it: 12,345.6 or 12.345,6."""
    return QLocale().toString(float(value), "f", digits)


def figures(value: float, count: int = 3) -> str:
    """With so many figures that count, and no more zeros than it needs: 0.25 or 0,25."""
    return f"{value:.{count}g}".replace(".", QLocale().decimalPoint())


def start(settings_file: Path) -> None:
    """Speak the language that the settings ask for."""
    use(str(QSettings(str(settings_file), QSettings.Format.IniFormat).value("language", "system")))


def translate_qt() -> None:
    """Qt's own buttons and menus too, once there is an application, and after every `use`."""
    QCoreApplication.removeTranslator(_of_qt)
    if _current != "en":
        QCoreApplication.installTranslator(_of_qt)


def _known(name: str) -> str:
    """The language we have for a name such as "de-AT" or "zh-Hans-CN"; empty for none."""
    parts = name.replace("_", "-").split("-")
    if parts[0] == "zh":
        return "" if {"Hant", "TW", "HK", "MO"} & set(parts) else "zh_CN"
    return parts[0] if parts[0] in LANGUAGES else ""
