"""The child process that decodes images, PDFs, and other documents.

Usage: python -m mlx_engine.media.media_child BYTES    answers requests on its pipes
"""

import json
import sys
from typing import Any

from mlx_engine.hardware import child_loop
from mlx_engine.media import image_decoder
from mlx_engine.media.unreadable import Unreadable

_DAMAGED = {"facts": "image_damaged", "pixels": "image_damaged", "pages": "pdf_damaged", "picture": "pdf_damaged"}


def _answer(request: memoryview) -> bytes:
    """Return a line of JSON, and pixels or a file after it."""
    length = int.from_bytes(request[:4], "little")
    (work, arguments), data = json.loads(bytes(request[4 : 4 + length])), request[4 + length :]
    content, result = b"", {}
    try:
        match work:
            case "facts":
                result = image_decoder.facts(data)
            case "pixels":
                content = image_decoder.pixels(data, *arguments)
            case "pages":
                result = _pdf_reader().pages(data, *arguments)
            case "picture":
                content = _pdf_reader().picture(data, *arguments)
            case "pdf_texts":
                pages, outline = _pdf_reader().texts(data, *arguments)
                result = {"pages": pages, "outline": outline}
            case "word_text":
                from mlx_engine.media import word_reader  # images' process starts without it

                result = {"text": word_reader.text(data, *arguments)}
            case "html_text":
                from mlx_engine.media import html_reader

                result = {"text": html_reader.text(data, *arguments)}
    except MemoryError:
        raise
    except Unreadable as problem:
        result = {"problem": problem.code, "values": problem.values}
    except Exception:  # Pillow and its plugins raise many types for damaged files
        result = {"problem": _DAMAGED.get(work, "document_damaged"), "values": {}}
    return json.dumps(result).encode("ascii") + b"\n" + content


def _pdf_reader() -> Any:
    from mlx_engine.media import pdf_reader  # PDFium is loaded only if there is a PDF

    return pdf_reader


if __name__ == "__main__":
    child_loop.serve(_answer, int(sys.argv[1]))
