"""The Tools pane of the Settings window: the list of servers."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.session.help_pages import MCP_JSON_PAGE
from app.session.tool_box import ToolBox
from app.text.language import tr, translated
from app.views.tools.server_card import ServerCard
from app.views.tools.server_form import ImportDialog, ServerForm
from app.widgets.controls import button, small_label
from app.widgets.layout import NoticeView, column, flow
from app.widgets.theme import Theme
from mlx_engine.contract.errors import UserError
from mlx_engine.mcp.config import import_config, other_apps


class ToolsPane(QWidget):
    """The configured servers. While it is shown, those that are on are connected."""

    def __init__(self, theme: Theme, box: ToolBox, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._box = theme, box
        self._import_problem = ""
        self.cards: dict[str, ServerCard] = {}
        about = tr("With tools, models can calculate, read files, and use other programs. You approve each call.")
        self.problem = NoticeView("", "error")
        self.add = button(tr("Add Server…"), look="bordered", clicked=partial(self._edit, None))
        self.imports = button(tr("Import…"), tr("Import servers from another app"), "bordered", self._choose_source)
        self.show_file = button(tr("Show mcp.json"), tr("Show the folder that contains mcp.json"), "bordered", self._show_file)
        self.show_calls = button(tr("Show Calls…"), tr("Show the tool calls in all chats"), "bordered")
        self._list = column(spacing=8)
        intro = small_label(theme, about, "secondary", wrap=True)
        column(
            intro, self._list, self.problem, flow(self.add, self.imports, self.show_file, self.show_calls), spacing=12, parent=self
        )
        self.show_file.setVisible(box.file is not None)
        box.changed.connect(self.refresh)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._import_problem = ""
        self._box.reload()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show all servers, and start those that are on."""
        if not self.isVisible():
            return
        self._box.warm()
        problem = self._import_problem or self._box.problem
        self.problem.show_text(problem, MCP_JSON_PAGE)
        self.problem.setVisible(bool(problem))
        names = {config.name for config in self._box.configs}
        for name in set(self.cards) - names:
            self.cards.pop(name).deleteLater()
        for place, config in enumerate(self._box.configs):
            if config.name not in self.cards:
                card = self.cards[config.name] = ServerCard(self._theme, self._box, config)
                card.edit_requested.connect(partial(self._edit, card))
                self._list.insertWidget(place, card)
            self.cards[config.name].config = config
            self.cards[config.name].refresh()

    def _edit(self, card: ServerCard | None) -> None:
        """Open the form for a server, or for a new one."""
        form = ServerForm(self._theme, self._box, card.config if card else None, self)
        form.saved.connect(partial(self._box.put, old=card.config.name if card else ""))
        form.open()

    @Slot()
    def _choose_source(self) -> None:
        menu = QMenu(self)
        for app, file in other_apps().items():
            menu.addAction(app, partial(self.import_from, file, app))
        menu.addAction(tr("Choose File…"), self._choose_file)
        menu.addAction(tr("Paste from Clipboard"), lambda: self.import_from(QGuiApplication.clipboard().text(), tr("Clipboard")))
        menu.popup(self.imports.mapToGlobal(QPoint(0, self.imports.height())))

    @Slot()
    def _choose_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, tr("Import Servers"), "", "JSON (*.json)")
        if name:
            self.import_from(Path(name), Path(name).name)

    def import_from(self, source: Path | str, name: str) -> None:
        """Ask which servers of a file or a text to add."""
        try:
            found = import_config(source, self._box.configs)
            self._import_problem = "" if found else tr("{source} has no new servers.", source=name)
        except UserError as error:
            self._import_problem = translated(error.text)
        self.refresh()
        if self._import_problem:
            return
        dialog = ImportDialog(self._theme, name, found, self)
        dialog.accepted.connect(lambda: self._box.save([*self._box.configs, *dialog.chosen]))
        dialog.open()

    @Slot()
    def _show_file(self) -> None:
        if self._box.file is not None:
            self._box.file.parent.mkdir(parents=True, exist_ok=True)
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._box.file.parent)))
