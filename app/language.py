"""The language of the window. Texts of the app go through `tr`, texts of the engine through `translated`.

Output in a terminal stays English. packaging/translations.py keeps the files in resources/translations up to date.
"""

import os
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QSettings, QTranslator

from mlx_engine.errors import EngineText

FOLDER = Path(__file__).parents[1] / "resources" / "translations"
CONTEXT = "Slipstream"
ENGINE_CONTEXT = "Engine"  # its sources are the codes of the engine's texts
LANGUAGES = {"en": "English", "de": "Deutsch", "zh_CN": "简体中文"}  # each in its own language
VARIABLE = "SLIPSTREAM_LANGUAGE"  # takes precedence over the setting

_translator = QTranslator()
_qt_translator = QTranslator()


def tr(text: str, **values: object) -> str:
    """Return the text in the window's language, with {names} filled in."""
    found = _translator.translate(CONTEXT, text) or text
    return found.format(**values) if values else found


def translated(text: EngineText) -> str:
    """Return an engine's text in the window's language, or in English if its code is not translated."""
    found = _translator.translate(ENGINE_CONTEXT, text.code) if text.code else ""
    values = {name: translated(value) if isinstance(value, EngineText) else value for name, value in text.values}
    try:
        return found.format(**values) if found else text.message
    except (LookupError, TypeError, ValueError):  # stored by another version with other values
        return text.message


def start(settings_file: Path) -> None:
    """Use the language of the settings."""
    use(str(QSettings(str(settings_file), QSettings.Format.IniFormat).value("language", "system")))


def use(wanted: str = "system") -> str:
    """Translate into this language, the system's or English, whichever is available first, and return its code."""
    wanted = os.environ.get(VARIABLE) or wanted
    names = QLocale.system().uiLanguages() if wanted not in LANGUAGES else [wanted]
    code = next((code for name in names if (code := _known(name))), "en")
    QLocale.setDefault(QLocale(code))
    _translator.load("")  # clears it
    _qt_translator.load("")
    if code != "en":
        _translator.load(str(FOLDER / f"slipstream_{code}.qm"))
        _qt_translator.load(f"qtbase_{code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
    return code


def number(value: float, digits: int = 0) -> str:
    """Format a number for the language: 12,345.6 or 12.345,6."""
    return QLocale().toString(float(value), "f", digits)


def figures(value: float, count: int = 3) -> str:
    """Format a number with `count` significant digits and no trailing zeros: 0.25 or 0,25."""
    return f"{value:.{count}g}".replace(".", QLocale().decimalPoint())


def translate_qt() -> None:
    """Translate Qt's own buttons and menus. Needs an application."""
    QCoreApplication.removeTranslator(_qt_translator)
    if not _qt_translator.isEmpty():
        QCoreApplication.installTranslator(_qt_translator)


def _known(name: str) -> str:
    """Return the available language for a name such as "de-AT" or "zh-Hans-CN", or an empty string."""
    parts = name.replace("_", "-").split("-")
    if parts[0] == "zh":
        return "" if {"Hant", "TW", "HK", "MO"} & set(parts) else "zh_CN"
    return parts[0] if parts[0] in LANGUAGES else ""
