"""Details of the selected endpoint, and what its server can do."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.session.activity import SessionActivity
from app.session.model_list import MAX_NAME
from app.session.pair_session import PairLoader
from app.session.picker import Picker
from app.storage.wording import tokens
from app.text.language import number, tr, translated
from app.text.plain_text import one_line
from app.widgets.controls import as_tooltip, button, small_label, styled_label
from app.widgets.fact_table import MAX_WIDTH, FactTable
from app.widgets.layout import ScrollingPage, column, flow, line
from app.widgets.save_dialog import confirm
from app.widgets.secret_texts import secret_kept
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.requests import Endpoint
from mlx_engine.remote.endpoint import open_host
from mlx_engine.remote.server import RemoteServer


class EndpointCard(ScrollingPage):
    """A page about the selected endpoint. The main button connects."""

    edit_requested = Signal(object)  # SavedEndpoint

    def __init__(self, theme: Theme, picker: Picker, activity: SessionActivity, loader: PairLoader) -> None:
        super().__init__(QWidget())
        self._picker, self._activity, self._loader = picker, activity, loader
        self.setAccessibleName(tr("Selected connection"))
        self.title = styled_label(theme, size=1.4, bold=True, elided=True)
        self.chip = small_label(theme)
        self.main = button("", "", "primary", picker.use)
        self.main.setMinimumHeight(32)
        self.cancel = button(tr("Cancel"), tr("Stop connecting"), "bordered", picker.cancel)
        self.edit = button(tr("Edit…"), look="bordered", clicked=self._edit)
        self.delete = button(tr("Delete…"), look="bordered", clicked=self._delete)
        self.progress = small_label(theme, look="secondary", wrap=True)
        self.facts = FactTable(theme)
        self.page.setMaximumWidth(MAX_WIDTH)
        column(
            self.title,
            flow(self.chip),
            flow(self.main, self.cancel, self.edit, self.delete),
            self.progress,
            line(),
            self.facts,
            None,
            spacing=16,
            margins=(24, 24, 24, 24),
            parent=self.page,
        )
        picker.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        one = self._picker.rows.current
        if one is None or one.endpoint is None:
            return
        endpoint, loader = one.endpoint.endpoint, self._loader
        state = self._picker.state(one)
        self.title.setText(one.name)
        self.title.setToolTip(as_tooltip(one.name))
        self.chip.setText(tr("Not encrypted") if open_host(endpoint) else tr("Encrypted"))
        set_look(self.chip, "chip" if open_host(endpoint) else "chip-accent")
        self.chip.setVisible(bool(open_host(endpoint)) or endpoint.is_encrypted)
        self.main.setText(tr("In use") if state == "loaded" else tr("Use"))
        self.main.setVisible(state != "loading")
        why_busy = self._activity.why_busy
        self.main.setEnabled(state == "ready" and not loader.running and not why_busy)
        self.main.setToolTip(as_tooltip(why_busy if state == "ready" else ""))
        in_use = tr("{name} is in use", name=one.name)
        self.main.setAccessibleName(in_use if state == "loaded" else tr("{action}: {name}", action=tr("Use"), name=one.name))
        self.cancel.setVisible(state == "loading")
        for made in (self.edit, self.delete):
            made.setVisible(state != "loading")
            made.setAccessibleName(tr("{action}: {name}", action=made.text().rstrip("…"), name=one.name))
        self.progress.setText(f"{translated(loader.progress.step)}…" if state == "loading" and loader.progress else "")
        self.progress.setVisible(bool(self.progress.text()))
        tested = self._picker.endpoints.tested.get(one.name)
        server = tested_facts(endpoint, tested) if tested is not None else {}
        if state == "loaded" and loader.info:
            server = server_facts(loader.info)
        self.facts.show_facts(_endpoint_facts(endpoint) | server)

    @Slot()
    def _edit(self) -> None:
        if (one := self._picker.rows.current) is not None:
            self.edit_requested.emit(one.endpoint)

    @Slot()
    def _delete(self) -> None:
        if (one := self._picker.rows.current) is not None:
            question = tr("“{name}” will be deleted along with its key.", name=one.name)
            if confirm(self, tr("Delete Connection?"), question, tr("Delete")):
                self._picker.remove_endpoint()


def _endpoint_facts(endpoint: Endpoint) -> dict[str, str]:
    """Return the names and values of the filled-in fields."""
    facts = {
        tr("Address"): endpoint.url,
        tr("Model"): endpoint.model or tr("The server's first model"),
        tr("Key"): secret_kept(endpoint.key) if endpoint.key else "",
        tr("Address for plain replies"): endpoint.plain_url,
        tr("Headers"): ", ".join(name for name, _ in endpoint.headers),
        tr("Certificate authority"): str(endpoint.ca_file or ""),
    }
    return {name: one_line(text, 2 * MAX_NAME) for name, text in facts.items() if text}


def tested_facts(endpoint: Endpoint, found: RemoteServer) -> dict[str, str]:
    """Return the names and values of what the test of an endpoint has found."""
    lacking = () if found.can_continue else (tr("Continuing a stopped reply (not in the server's API)"),)
    if not found.can_count:
        lacking = (*lacking, tr("Counting tokens before a reply (not in the server's API)"))
    return server_facts(found.pair(endpoint), len(found.models), lacking)


def server_facts(pair: PairInfo, models: int = 0, lacking: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the names and values of what a server reports, and what it can't do.

    Args:
        models: how many it has; 0 if unknown.
        lacking: more that it can't do.
    """
    speculation = ", ".join(
        [pair.drafter or tr("Yes"), *([tr("up to {count} tokens per round", count=pair.block_size)] if pair.block_size else [])]
    )
    if pair.why_plain:
        lacking = (tr("Speculative decoding (the server doesn't report it)"), *lacking)
    if pair.why_not_plain:
        lacking = (tr("Turning off DFlash (add an address for plain replies)"), *lacking)
    if not pair.can_think:
        lacking = (*lacking, tr("Thinking (the server doesn't support it)"))
    if not pair.can_call_tools:
        lacking = (*lacking, tr("Tools (the server doesn't support tool calls)"))
    model = one_line(pair.name, MAX_NAME)
    return {
        tr("Server"): one_line(pair.family, MAX_NAME) or tr("OpenAI-compatible"),
        tr("Model"): tr("{model} (1 of {count})", model=model, count=number(models)) if models > 1 else model,
        tr("Context"): tokens(pair.context_limit) if pair.context_known else tr("Unknown"),
        tr("Speculative decoding"): tr("Not reported") if pair.why_plain else one_line(speculation, MAX_NAME),
        **({tr("Not available"): "; ".join(lacking)} if lacking else {}),
    }
