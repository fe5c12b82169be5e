"""Keep the translations in resources/translations up to date with the code.

python packaging/translations.py                       add new texts to the .ts files, drop old ones, compile the .qm files
python packaging/translations.py --missing LANGUAGE    print the texts that are not translated, as JSON, one per line

A .ts file has two contexts. In "Slipstream", the sources are the English texts of `tr` calls. In "Engine", they are the codes of
errors and other engine texts, with the English template as a comment. Texts of the terminal are not translated.
"""

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.text.language import WINDOW_TEXTS  # noqa: E402

FOLDER = ROOT / "resources" / "translations"
LANGUAGES = ("de", "zh_CN")
APP, ENGINE = "Slipstream", "Engine"
_CODE = re.compile(r"[a-z][a-z0-9_]*")
_TERMINAL = ("mlx_engine/cli/",)


def texts() -> dict[str, str]:
    """Return the text of every `tr` call, with the first file that contains it.

    Raises:
        SystemExit: an argument is not a string literal.
    """
    found: dict[str, str] = {}
    for file, call in _calls("app"):
        if isinstance(call.func, ast.Name) and call.func.id == "tr":
            (text, *_) = _literals(call) or [None]
            if text is None:
                sys.exit(f"{file}:{call.lineno}: the first argument of tr() must be a string literal")
            found.setdefault(text, file)
    return found


def engine_texts() -> dict[str, tuple[str, str]]:
    """Return the template and first file of every engine text, by code.

    An engine text is a call `UserError(code, template)`, of a subclass too, or `X.of(code, template)`. The template is a literal,
    or the name `template` after a literal was assigned to it. Codes that only the terminal shows are left out.

    Raises:
        SystemExit: a code has two templates.
    """
    found: dict[str, tuple[str, str]] = {}
    errors = {"UserError", "of"}
    for file, call in (*_calls("app", errors), *_calls("mlx_engine", errors)):
        name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
        literals = _literals(call)
        if name in errors and not file.startswith(_TERMINAL) and len(literals) >= 2 and _CODE.fullmatch(literals[0]):
            template, _ = found.setdefault(literals[0], (literals[1], file))
            if template != literals[1]:
                sys.exit(f"{file}:{call.lineno}: the code {literals[0]} has another template in {found[literals[0]][1]}")
    return found


@cache
def trees(package: str) -> dict[Path, ast.Module]:
    """Return the syntax trees of a package, by file."""
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted((ROOT / package).rglob("*.py"))}


def _calls(package: str, errors: set[str] | None = None) -> Iterator[tuple[str, ast.Call]]:
    """Yield all calls with their files, and add names of error subclasses to `errors`."""
    for tree in trees(package).values() if errors is not None else ():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & errors:
                errors.add(node.name)
    for file, tree in trees(package).items():
        template: ast.expr | None = None
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.Call)]
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            if isinstance(node, ast.Call):
                is_name = [isinstance(argument, ast.Name) and argument.id == "template" for argument in node.args]
                node.args = [template if name and template else argument for name, argument in zip(is_name, node.args, strict=True)]
                yield file.relative_to(ROOT).as_posix(), node
            elif isinstance(node.targets[0], ast.Name) and node.targets[0].id == "template":
                template = node.value


def _literals(call: ast.Call) -> list[str]:
    """Return the leading arguments that are string literals."""
    found: list[str] = []
    for argument in call.args:
        if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
            break
        found.append(argument.value)
    return found


def ts_file(language: str) -> Path:
    return FOLDER / f"slipstream_{language}.ts"


def read(file: Path, name: str = APP) -> dict[str, str]:
    """Return the finished translations of a context."""
    found: dict[str, str] = {}
    for context in ET.parse(file).getroot().iter("context") if file.exists() else ():
        for message in context.iter("message") if context.findtext("name") == name else ():
            source, translation = message.findtext("source") or "", message.find("translation")
            if translation is not None and translation.get("type") is None and translation.text:
                found[source] = translation.text
    return found


def write(language: str) -> None:
    """Write a .ts file with all texts, in the order of their files."""
    file = ts_file(language)
    contexts = {
        APP: {text: (where, "") for text, where in texts().items()},
        ENGINE: {code: (where, WINDOW_TEXTS.get(code, template)) for code, (template, where) in engine_texts().items()},
    }
    root = ET.Element("TS", version="2.1", language=language, sourcelanguage="en")
    for name, wanted in contexts.items():
        translated = read(file, name)
        context = ET.SubElement(root, "context")
        ET.SubElement(context, "name").text = name
        for source, (where, comment) in sorted(wanted.items(), key=lambda one: (one[1][0], one[0])):
            message = ET.SubElement(context, "message")
            ET.SubElement(message, "location", filename=f"../../{where}")
            ET.SubElement(message, "source").text = source
            if comment:
                ET.SubElement(message, "extracomment").text = comment
            translation = ET.SubElement(message, "translation")
            if source in translated:
                translation.text = translated[source]
            else:
                translation.set("type", "unfinished")
    ET.indent(root, "    ")
    body = ET.tostring(root, encoding="unicode")
    file.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', encoding="utf-8")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--missing"]:
        file = ts_file(arguments[1])
        for text in sorted(texts().keys() - read(file)):
            print(json.dumps(text, ensure_ascii=False))
        done = read(file, ENGINE)
        for code, (template, _) in sorted(engine_texts().items()):
            if code not in done:
                print(json.dumps([code, template], ensure_ascii=False))
        return 0
    for language in LANGUAGES:
        write(language)
        file = ts_file(language)
        release = Path(sys.executable).with_name("pyside6-lrelease")
        subprocess.run([str(release), "-silent", str(file), "-qm", str(file.with_suffix(".qm"))], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
