"""Helpers for tests of the picker."""

from app.session.model_list import Candidate
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.models.library.pair import Pair
from tests.app.conftest import Running

PAIR = Pair("owner/target", "owner/drafter")


def opened(app: Running) -> None:
    """Open the picker and wait until its pairs are listed."""
    app.window.dialogs.show_models()
    app.until(lambda: bool(app.services.picker.rows.matching))


def look_at(app: Running, id: str) -> Candidate:
    picker = app.services.picker
    picker.rows.select(id)
    assert picker.rows.current is not None and picker.rows.current.id == id
    return picker.rows.current


def state(app: Running) -> str:
    picker = app.services.picker
    return picker.state(picker.rows.current) if picker.rows.current else ""


def reopened(app: Running) -> PickerDialog:
    """Wait until the chosen model is in use, which closes the window, and open that again."""
    app.until(lambda: state(app) == "loaded" and app.window.dialogs.find(PickerDialog) is None)
    opened(app)
    return app.dialog(PickerDialog)


def card(app: Running):  # type: ignore[no-untyped-def]
    return app.dialog(PickerDialog).card
