"""Chips of the tools that are on in the open chat."""

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.text.language import tr
from app.views.tools.server_card import server_title
from app.views.tools.tools_button import ToolsButton
from app.widgets.controls import IconButton, small_label
from app.widgets.layout import Flow, row
from app.widgets.theme import Theme, set_look
from mlx_engine.mcp.config import ServerConfig


class ToolChips(QWidget):
    """A wrapping row of chips of servers, each with a button that turns it off."""

    def __init__(self, theme: Theme, tools: ToolsButton) -> None:
        super().__init__()
        self._theme, self._tools = theme, tools
        self.chips: list[ToolChip] = []
        self._flow = Flow(self, gap=6)
        tools.refreshed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        chosen = self._tools.chosen
        if chosen != [chip.config for chip in self.chips]:
            for chip in self.chips:
                self._flow.removeWidget(chip)
                chip.hide()
                chip.deleteLater()
            self.chips = [ToolChip(self._theme, config, self) for config in chosen]
            for chip in self.chips:
                chip.off.clicked.connect(partial(self._tools.switch_server, chip.config, False))
                self._flow.addWidget(chip)
                chip.show()
            self.updateGeometry()
        self.setVisible(bool(self.chips))


class ToolChip(QFrame):
    """The name of a server that is on, and a button that turns it off in this chat."""

    def __init__(self, theme: Theme, config: ServerConfig, parent: QWidget) -> None:
        super().__init__(parent)
        self.config = config
        set_look(self, "tool")
        name = server_title(config)
        self.name = small_label(theme, name, "accent", elided=True)
        self.off = IconButton(theme, "close", tr("Turn off {name} in this chat", name=name))
        row(self.name, self.off, spacing=0, margins=(10, 0, 2, 0), parent=self)
