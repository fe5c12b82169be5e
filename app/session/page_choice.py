"""The choice of what is sent of a PDF's pages, and what the pages cost."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Signal, Slot

from app.session.attachment_reader import AttachmentReader
from app.session.background_work import Background
from app.session.context_meter import ContextMeter
from app.session.pair_session import PairLoader
from app.storage.attachments import Attachment
from app.storage.pictures import Got, Page, Sent
from mlx_engine.contract.requests import LoadPair
from mlx_engine.models.files.checkpoint import read_config

HEAD = 20  # characters that precede a page's text in the prompt


class PictureCosts(Protocol):
    """What pictures cost a target; see `ImageRules`."""

    def tokens(self, width: int, height: int, /) -> int: ...


class PageChoice(QObject):
    """The pages of the PDFs of the next message."""

    changed = Signal()

    def __init__(
        self,
        reader: AttachmentReader,
        meter: ContextMeter,
        loader: PairLoader,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._reader, self._meter, self._loader, self._background = reader, meter, loader, background
        self._sight: PictureCosts | None = None
        loader.loaded.connect(self._read_sight)
        for signal in (reader.changed, meter.changed, loader.loaded):
            signal.connect(self.changed)

    @Slot()
    def _read_sight(self) -> None:
        """Read how the loaded target sees, from its folder."""
        self._sight = None
        pair, loaded = self._loader.pair, self._loader.loaded_from
        if pair is not None and pair.can_see and loaded is not None and loaded.target is not None:
            self._background.run(partial(_read_rules, loaded.target), partial(self._keep_sight, loaded), lambda problem: None)

    def _keep_sight(self, loaded: LoadPair, sight: PictureCosts) -> None:
        if loaded == self._loader.loaded_from:
            self._sight = sight
            self.changed.emit()

    @property
    def can_see(self) -> bool:
        return self._loader.pair is None or self._loader.pair.can_see

    def current(self, pdf: Attachment) -> Attachment | None:
        """Return the PDF as it is now, or None if it was removed."""
        return self._reader.current(pdf)

    def send_as(self, pdf: Attachment, numbers: Iterable[int], sent: Sent) -> None:
        """Change what is sent of pages."""
        chosen = set(numbers)
        pages = tuple(replace(page, sent=sent) if page.number in chosen else page for page in pdf.page_list)
        if pages != pdf.page_list:
            self._reader.set_pages(pdf, pages)

    def got(self, pdf: Attachment, page: Page) -> Got:
        """Return what the model will get of a page, once the pages are drawn."""
        is_open = self._loader.pair is None or pdf in self._reader.drawing
        return page.sent if is_open else page.got(self.can_see)

    def tokens(self, pdf: Attachment) -> list[int] | None:
        """Return about how many tokens each page takes, or None if they aren't counted."""
        count = self._reader.counts.get(pdf)
        return None if count is None else page_tokens(pdf.page_list, count.tokens, self._sight)

    def fitting(self, pdf: Attachment) -> int | None:
        """Return how many of the first pages fit if the PDF doesn't, or None."""
        misfit = self._meter.use.misfit if self._meter.use is not None else None
        return misfit.pages_fit if misfit is not None and misfit.file == pdf else None


def _read_rules(folder: Path) -> PictureCosts:
    from mlx_engine.vision.vision_checkpoint import read_rules  # imports NumPy, which the window doesn't wait for

    return read_rules(folder, read_config(folder))


def page_tokens(pages: Iterable[Page], total: int, sight: PictureCosts | None) -> list[int]:
    """Divide a PDF's tokens among its pages.

    Args:
        pages: all pages.
        total: tokens of the whole PDF.
        sight: how the target sees, or None. With it, pictures cost what they take, and texts share the rest by their lengths.
    """
    listed = list(pages)
    pictures = [picture_tokens(page, sight) for page in listed]
    lengths = [0 if page.sent == "no" else HEAD + len(page.text) for page in listed]
    rest, whole = max(0, total - sum(pictures)), sum(lengths)
    return [round(rest * length / whole) + picture if whole else 0 for length, picture in zip(lengths, pictures, strict=True)]


def picture_tokens(page: Page, sight: PictureCosts | None) -> int:
    if sight is None or not page.shown:
        return 0
    assert page.picture is not None
    return sight.tokens(page.picture.width, page.picture.height)


def numbers_in(text: str, last: int) -> list[int] | None:
    """Return the pages that a text such as “1-5, 8” lists, or None."""
    found: set[int] = set()
    for part in re.split(r"[,;，、\s]+", re.sub(r"\s*[-–—]\s*", "-", text.strip())):
        match = re.fullmatch(r"(\d{1,6})(-(\d{0,6}))?", part)
        if match is None:
            return None
        start = int(match[1])
        end = start if match[2] is None else int(match[3] or last)
        if not 1 <= start <= end or start > last:
            return None
        found.update(range(start, min(end, last) + 1))
    return sorted(found)
