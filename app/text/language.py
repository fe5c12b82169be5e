"""Translation of the app's texts (`tr`) and the engine's (`translated`).

Terminal output stays English. packaging/translations.py keeps the files in resources/translations up to date.
"""

import os
import re
import string
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QSettings, QTranslator

from mlx_engine.contract.errors import EngineText

FOLDER = Path(__file__).parents[2] / "resources" / "translations"
CONTEXT = "Slipstream"
ENGINE_CONTEXT = "Engine"  # its sources are the codes of the engine's texts
LANGUAGES = {"en": "English", "de": "Deutsch", "zh_CN": "简体中文"}  # each in its own language
VARIABLE = "SLIPSTREAM_LANGUAGE"  # takes precedence over the setting

# Replacements for engine texts that give advice for the terminal
WINDOW_TEXTS = {
    "blas_missing": "OpenBLAS ({library}) isn't installed. Install it, then start Slipstream again.",
    "blas_unknown": "Slipstream was started with an unknown BLAS (“{value}”). Quit Slipstream, then open it normally.",
    "folder_set_by_environment": "The model folder is set outside Slipstream ({variable}). Change it there.",
    "hub_offline": "Slipstream was started without access to the model hub. Quit Slipstream, then open it normally.",
    "invalid_endpoint": "“{endpoint}” isn't a valid hub address. Correct it in Settings ▸ Models.",
    "no_keychain": "Can't store the token: this system has no keychain ({reason}).",
    "not_in_catalog": "“{id}” isn't in the catalog (similar: {similar}). Choose another pair.",
    "offline_command": (
        "Slipstream was started with {variable}, so “{host}” can't be reached. Quit Slipstream, then open it normally."
    ),
    "proxy_refused": "The proxy refused the connection to {endpoint} ({reason}). Check the proxy in the system's network settings.",
    "repo_gated": "{repo} is gated. Accept its conditions at {page}, then enter your access token in Settings ▸ Models.",
    "repo_not_found_or_private": (
        "Can't find {repo} at {endpoint}. Check the spelling, or enter an access token in Settings ▸ Models if it is private."
    ),
    "threads_invalid": (
        "Slipstream was started with an invalid number of threads (“{value}”). Quit Slipstream, then open it normally."
    ),
    "token_rejected": (
        "The hub rejected your access token. Create a new one at {endpoint}/settings/tokens, then enter it in Settings ▸ Models."
    ),
    "untrusted_certificate": "The certificate for {endpoint} isn't trusted. Install your proxy's certificate on this computer.",
}

_ENDS = (".", "。", "!", "！", "?", "？", "…", ":", "：")
_after_digit = re.compile(r"(?<=\d) (?=\w)")
_size = re.compile(r"[\d.,]+ [KMG]B")

_translator = QTranslator()
_qt_translator = QTranslator()


def tr(text: str, **values: object) -> str:
    """Return a text in the window's language, with its {placeholders} filled in."""
    found = _translator.translate(CONTEXT, text) or text
    return found.format(**values) if values else found


def translated(text: EngineText) -> str:
    """Return an engine text in the window's language, or in English as a fallback."""
    found = _translator.translate(ENGINE_CONTEXT, text.code) or WINDOW_TEXTS.get(text.code, "") if text.code else ""
    values = {name: translated(value) if isinstance(value, EngineText) else value for name, value in text.values}
    try:
        return _NumberFormatter().format(found, **values) if found else text.message
    except (LookupError, TypeError, ValueError):  # stored by another version with other values
        return text.message


class _NumberFormatter(string.Formatter):
    """A formatter that localizes numbers and sizes, such as 12,345.6 and “4.3 GB”."""

    def format_field(self, value: Any, format_spec: str) -> str:
        text = str(super().format_field(value, format_spec))
        if (format_spec and isinstance(value, int | float)) or _size.fullmatch(text):
            locale = QLocale()
            return "".join({",": locale.groupSeparator(), ".": locale.decimalPoint()}.get(char, char) for char in text)
        return text


def start(settings_file: Path) -> None:
    """Apply the language setting."""
    use(str(QSettings(str(settings_file), QSettings.Format.IniFormat).value("language", "system")))


def use(wanted: str = "system") -> str:
    """Use the wanted language, else the system's, else English; return its code."""
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


def is_english() -> bool:
    return QLocale().language() == QLocale.Language.English


def sentences(*texts: str) -> str:
    """Join sentences as the language does, ending those that lack a period.

    Empty texts are left out.
    """
    chinese = QLocale().language() == QLocale.Language.Chinese
    period, space = ("。", "") if chinese else (".", " ")
    return space.join(text if text.endswith(_ENDS) else text + period for text in texts if text)


def unbroken(text: str) -> str:
    """Keep numbers and the words after them on one line."""
    return _after_digit.sub("\N{NO-BREAK SPACE}", text)


def figures(value: float, count: int = 3) -> str:
    """Format a number with significant digits and no trailing zeros: 0.25 or 0,25."""
    return f"{value:.{count}g}".replace(".", QLocale().decimalPoint())


def translate_qt() -> None:
    """Install Qt's own translations. Requires a QApplication."""
    QCoreApplication.removeTranslator(_qt_translator)
    if not _qt_translator.isEmpty():
        QCoreApplication.installTranslator(_qt_translator)


def _known(name: str) -> str:
    """Return the code for a name such as "de-AT" or "zh-Hans-CN", or an empty string."""
    parts = name.replace("_", "-").split("-")
    if parts[0] == "zh":
        return "" if {"Hant", "TW", "HK", "MO"} & set(parts) else "zh_CN"
    return parts[0] if parts[0] in LANGUAGES else ""
