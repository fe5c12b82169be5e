"""Reasons why an image or a PDF can't be read."""

from mlx_engine.contract.attached_images import too_large, unsupported
from mlx_engine.contract.errors import UserError


class Unreadable(Exception):
    """A reason, in the child process.

    Attributes:
        values: numbers and short texts of ours, nothing from the file.
    """

    def __init__(self, code: str, **values: int | str) -> None:
        super().__init__(code)
        self.code, self.values = code, values


def error_of(code: str, name: str, values: dict[str, int | str]) -> UserError:
    """Return the error with this code for the file `name`.

    Raises:
        KeyError: `values` lack what the code needs.
    """
    match code:
        case "image_format":
            return unsupported(name, str(values["format"]))
        case "image_unknown":
            return unsupported(name, None)
        case "image_mode":
            template = (
                "Can't read “{name}”, because its kind of color isn't supported. Save it as JPEG or PNG with 8 bits per channel."
            )
            return UserError("image_mode", template, name=name)
        case "image_pixels":
            return UserError(
                "image_pixels",
                "“{name}” is too large ({width:,} × {height:,} pixels). The limit is {limit} megapixels. Make it smaller.",
                name=name,
                width=values["width"],
                height=values["height"],
                limit=values["limit"],
            )
        case "image_bytes":
            return too_large(name, int(values["limit"]))
        case "image_slow":
            return UserError("image_slow", "“{name}” takes too long to read. Make it smaller, or save it as JPEG.", name=name)
        case "image_memory":
            return UserError(
                "image_memory", "Reading “{name}” takes too much memory. Make it smaller, or save it as JPEG.", name=name
            )
        case "media_stopped":
            return UserError("media_stopped", "Reading “{name}” was stopped. Try again.", name=name)
        case "pdf_locked":
            template = "“{name}” is password-protected. Save a copy without a password and attach the copy."
            return UserError("pdf_locked", template, name=name)
        case "pdf_too_many_pages":
            return UserError(
                "pdf_too_many_pages",
                "“{name}” has {pages:,} pages, and the limit is {limit:,}. Attach part of it.",
                name=name,
                pages=values["pages"],
                limit=values["limit"],
            )
        case "pdf_too_much_text":
            template = "“{name}” has more than {limit:,} characters of text. Attach part of it."
            return UserError("pdf_too_much_text", template, name=name, limit=values["limit"])
        case "pdf_no_page":
            template = "“{name}” has no page {number:,}. It has {pages:,} pages."
            return UserError("pdf_no_page", template, name=name, number=values["number"], pages=values["pages"])
        case "pdf_page_size":
            template = "Page {number:,} of “{name}” has a size that can't be shown. Export the PDF again."
            return UserError("pdf_page_size", template, name=name, number=values["number"])
        case "pdf_bytes":
            template = "The file “{name}” is too large. The limit for PDFs is {limit} MB. Attach part of it."
            return UserError("pdf_bytes", template, name=name, limit=values["limit"])
        case "pdf_too_slow":
            return UserError("pdf_too_slow", "“{name}” takes too long to read. Attach its text, or part of it.", name=name)
        case "pdf_memory":
            return UserError("pdf_memory", "Reading “{name}” takes too much memory. Attach part of it.", name=name)
        case "image_damaged":
            return UserError("image_damaged", "“{name}” is damaged and can't be read. Save or export it again.", name=name)
        case "document_bytes":
            template = "The file “{name}” is too large. The limit for documents is {limit} MB. Divide it."
            return UserError("document_bytes", template, name=name, limit=values["limit"])
        case "document_too_much_text":
            template = "“{name}” has more than {limit:,} characters of text. Divide it."
            return UserError("document_too_much_text", template, name=name, limit=values["limit"])
        case "document_slow":
            return UserError("document_slow", "“{name}” takes too long to read. Divide it, or save its text.", name=name)
        case "document_memory":
            return UserError("document_memory", "Reading “{name}” takes too much memory. Divide it.", name=name)
        case "document_damaged":
            return UserError("document_damaged", "“{name}” is damaged and can't be read. Save or export it again.", name=name)
        case _:
            return UserError("pdf_damaged", "“{name}” is damaged and can't be read as a PDF. Export it again.", name=name)
