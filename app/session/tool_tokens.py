"""The tokens that the tools of the open chat take in its prompts."""

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.pair_session import PairLoader
from app.session.tool_box import ToolBox
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message
from mlx_engine.contract.token_counts import TokenCount

_PROBE = (Message("user", "."),)


class ToolTokens(QObject):
    """The token count of the chat's tool descriptions; None while unknown."""

    changed = Signal()

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        tools: ToolBox,
        engine: EngineAdapter,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._loader, self._engine = session, activity, loader, engine
        self._counted: object = None  # the pair and the tools of the last count
        self.count: int | None = None
        for signal in (tools.changed, session.settings_changed, loader.loaded, activity.changed):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        """Count again if the tools or the pair have changed."""
        specs, pair = self._session.tool_specs, self._loader.pair
        if self._counted == (pair, specs) or self._activity.replying_here:
            return
        self._counted, self.count = (pair, specs), None
        if specs and not self._loader.sent_to:
            request = GenerationRequest(_PROBE, tools=specs)
            self._engine.submit(CountTokens(request, estimate=True, parts=True), partial(self._receive, self._counted))
        self.changed.emit()

    def _receive(self, counted: object, deliveries: list[Delivery]) -> None:
        for delivery in deliveries if counted is self._counted else ():
            if isinstance(delivery.event, TokenCount) and delivery.event.parts is not None:
                self.count = delivery.event.parts.tools
                self.changed.emit()
