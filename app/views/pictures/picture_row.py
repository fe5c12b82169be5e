"""A wrapping row of pictures. A click opens one in the viewer."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.storage.attachments import Attachment
from app.storage.pictures import StoredFile
from app.text.language import tr
from app.views.pictures.picture_actions import picture_menu
from app.views.pictures.viewer import open_viewer
from app.widgets.layout import Flow
from app.widgets.picture_loader import Shown, fitted
from app.widgets.picture_tile import THUMBNAIL, PictureTile
from app.widgets.theme import Theme
from mlx_engine.contract.requests import AttachedImage

SEVERAL = QSize(240, 150)  # in which each of several pictures fits
GAP = 8


class PictureRow(QWidget):
    """Pictures side by side. Their sizes are known before they are decoded.

    Args:
        room: in which each picture fits, at the default text size; None for what fits their number.
        right: whether to align them to the right.
    """

    def __init__(
        self,
        theme: Theme,
        pictures: Sequence[Shown] = (),
        room: QSize | None = None,
        right: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._room = theme, room
        self._pictures: tuple[Shown, ...] = ()
        self._flow = Flow(self, gap=GAP, right=right)
        self.tiles: list[PictureTile] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_pictures(pictures)

    def show_pictures(self, pictures: Sequence[Shown]) -> None:
        if self._pictures == tuple(pictures):
            return
        for tile in self.tiles:
            tile.hide()
            self._flow.removeWidget(tile)
            tile.deleteLater()
        self._pictures, self.tiles = tuple(pictures), []
        for index, shown in enumerate(self._pictures):
            tile = PictureTile(self._theme, shown, self._room or bound(len(self._pictures)), parent=self)
            tile.clicked.connect(partial(self.open, index))
            tile.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            tile.customContextMenuRequested.connect(partial(self._show_menu, index))
            self._flow.addWidget(tile)
            tile.show()
            self.tiles.append(tile)
        self.updateGeometry()

    def open(self, index: int) -> None:
        open_viewer(self._theme, self._pictures, index, self.window())

    def _show_menu(self, index: int, at: QPoint) -> None:
        tile = self.tiles[index]
        picture_menu(tile, self._theme, tile.shown, tile.click).popup(tile.mapToGlobal(at))


def pictures_of(files: Sequence[Attachment]) -> list[Shown]:
    """Return the images among a message's files."""
    return [Shown.of(one.name, one.picture) for one in files if one.picture is not None]


def shown_image(image: AttachedImage) -> Shown:
    """Return an image of a tool's result. Its size is found when it is decoded."""
    return Shown(image.name or tr("Image"), StoredFile(image.digest, image.data))


def picture_of_page(pdf: Attachment, page: int) -> Shown | None:
    """Return a page of a PDF as a picture, or None without the PDF's file.

    It is drawn when it is shown.
    """
    return Shown(pdf.name, pdf.document, page=page) if pdf.document is not None else None


def bound(count: int) -> QSize:
    """Return the size in which each of several pictures fits.

    At the default text size.
    """
    return THUMBNAIL if count == 1 else SEVERAL


def guess_height(pictures: Sequence[Shown], width: int) -> int:
    """Return about how high a row of pictures is."""
    room, height, line, x = bound(len(pictures)), 0, 0, 0
    for shown in pictures:
        drawn = fitted(shown.width, shown.height, room) if shown.width else room
        if x and x + drawn.width() > width:
            height, line, x = height + line + GAP // 2, 0, 0
        line, x = max(line, drawn.height()), x + drawn.width() + GAP
    return height + line
