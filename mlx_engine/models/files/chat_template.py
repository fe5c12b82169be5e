"""Whether a model's files contain the chat template that it needs to chat."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import read_bounded
from mlx_engine.models.files.checkpoint import LARGEST_SETTINGS

NO_CHAT_TEMPLATE = EngineText.of(
    "no_chat_template", "This model has no chat template, so it can't chat. Choose an instruction-tuned model."
)
COMPLETES_ONLY = EngineText.of(
    "completes_only",
    "This model has no chat template, so it can't chat. It can only continue text, through the local server's /v1/completions. "
    "To chat, choose an instruction-tuned model.",
)
TEMPLATE_FILE, SETTINGS_FILE = "chat_template.jinja", "tokenizer_config.json"
_PROCESSOR_FILE = "chat_template.json"  # of older models with images; transformers reads it only for their processors
_RENDERED_BY_MLX_LM = ("muse_spark",)  # families without a template in Jinja


def template_problem(config: Mapping[str, Any], sizes: Mapping[str, int], settings: Mapping[str, Any]) -> EngineText | None:
    """Return why a target can't chat, or None.

    Args:
        config: the content of its config.json.
        sizes: the bytes of its files, by name.
        settings: the content of its tokenizer_config.json.
    """
    if config.get("model_type") in _RENDERED_BY_MLX_LM or settings.get("chat_template_type"):
        return None
    has_other = default_template(settings.get("chat_template")) or sizes.get(_PROCESSOR_FILE)
    return None if sizes.get(TEMPLATE_FILE, has_other) else COMPLETES_ONLY


def folder_template_problem(folder: Path, config: Mapping[str, Any]) -> EngineText | None:
    """Return why a target can't chat, or None if it can or is unreadable."""
    try:
        sizes = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
        settings = read_object(folder / SETTINGS_FILE) if SETTINGS_FILE in sizes else {}
    except (OSError, UserError, ValueError, RecursionError):
        return None  # loading says what is wrong
    return template_problem(config, sizes, settings)


def default_template(found: object) -> str:
    """Return the chat template of a field that may hold several, or ""."""
    if isinstance(found, list):
        found = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
    text = found.get("default") if isinstance(found, dict) else found
    return text if isinstance(text, str) else ""


def processor_template(folder: Path) -> str:
    """Return the template that a folder has only in the file for its processor, or ""."""
    try:
        settings = read_object(folder / SETTINGS_FILE) if (folder / SETTINGS_FILE).is_file() else {}
        if (folder / TEMPLATE_FILE).is_file() or default_template(settings.get("chat_template")):
            return ""
        return default_template(read_object(folder / _PROCESSOR_FILE).get("chat_template"))
    except (OSError, UserError, ValueError, RecursionError):
        return ""


def read_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        OSError, UserError, ValueError, RecursionError: the file has none.
    """
    found = json.loads(read_bounded(file, LARGEST_SETTINGS))
    if not isinstance(found, dict):
        raise ValueError
    return found
