"""Where the choice of pairs keeps what it remembers: the platform's data folder."""

import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from mlx_engine.errors import UserError

_LARGEST = 16_000_000  # bytes of a JSON file of ours


class Damaged(UserError):
    """A file of ours that is there and can be read, and holds nothing that Slipstream wrote."""


def data_folder() -> Path:
    return platformdirs.user_data_path("Slipstream", appauthor=False)


def read_json(path: Path) -> Any:
    """The content of one of our own JSON files; None when there is none.

    Raises:
        Damaged: it holds no JSON, or is far too large.
        UserError: it cannot be read at present.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise Damaged(f"{path} has {path.stat().st_size / 1e6:,.0f} MB, far more than Slipstream writes. Move it away.")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise Damaged(f"{path} is damaged: it holds no JSON. Repair it or move it away.") from None


def write_json(path: Path, value: Any) -> None:
    """Replace the file in one step.

    Raises:
        UserError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(value, stream, ensure_ascii=False, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise UserError(f"{path} cannot be written ({error.strerror}).") from None
