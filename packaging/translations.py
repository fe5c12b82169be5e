"""Keeps the translations up to date: what the app says against resources/translations.

python packaging/translations.py          adds new texts to the .ts files, drops those that are gone, compiles the .qm files
python packaging/translations.py --missing LANGUAGE    prints what is not translated, one text a line as JSON
"""

import ast
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "resources" / "translations"
LANGUAGES = ("de", "zh_CN")


def texts() -> dict[str, str]:
    """Every text that goes through `tr`, with the first file that has it.

    Raises:
        SystemExit: a call has something else than one literal text.
    """
    found: dict[str, str] = {}
    for file in sorted((ROOT / "app").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tr":
                text = node.args[0] if node.args else None
                if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
                    sys.exit(f"{file.relative_to(ROOT)}:{node.lineno}: tr() wants one literal text")
                found.setdefault(text.value, file.relative_to(ROOT).as_posix())
    return found


def ts_file(language: str) -> Path:
    return FOLDER / f"slipstream_{language}.ts"


def read(file: Path) -> dict[str, str]:
    """The translations of a .ts file that are finished."""
    if not file.exists():
        return {}
    found: dict[str, str] = {}
    for message in ET.parse(file).getroot().iter("message"):
        source, translation = message.findtext("source") or "", message.find("translation")
        if translation is not None and translation.get("type") is None and translation.text:
            found[source] = translation.text
    return found


def write(language: str, wanted: dict[str, str], translated: dict[str, str]) -> None:
    """Write a .ts file of these texts, in the order in which they stand in the app."""
    root = ET.Element("TS", version="2.1", language=language, sourcelanguage="en")
    context = ET.SubElement(root, "context")
    ET.SubElement(context, "name").text = "Slipstream"
    for text, file in sorted(wanted.items(), key=lambda one: (one[1], one[0])):
        message = ET.SubElement(context, "message")
        ET.SubElement(message, "location", filename=f"../../{file}")
        ET.SubElement(message, "source").text = text
        translation = ET.SubElement(message, "translation")
        if text in translated:
            translation.text = translated[text]
        else:
            translation.set("type", "unfinished")
    ET.indent(root, "    ")
    body = ET.tostring(root, encoding="unicode")
    ts_file(language).write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', encoding="utf-8")


def main(arguments: list[str]) -> int:
    wanted = texts()
    if arguments[:1] == ["--missing"]:
        translated = read(ts_file(arguments[1]))
        for text in wanted:
            if text not in translated:
                print(json.dumps(text, ensure_ascii=False))
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        write(language, wanted, read(ts_file(language)))
        compiled = ts_file(language).with_suffix(".qm")
        release = Path(sys.executable).with_name("pyside6-lrelease")
        subprocess.run([str(release), "-silent", str(ts_file(language)), "-qm", str(compiled)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
