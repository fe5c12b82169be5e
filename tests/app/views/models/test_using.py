"""Use of a model that was chosen in the Models window."""

from pathlib import Path

from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.requests import LoadPair
from tests.app.conftest import Start
from tests.app.scripted_engine import ScriptedEngine, refuse
from tests.app.views.models.picker_page import card, look_at, opened, state


def test_the_window_closes_when_the_model_chosen_in_it_is_loaded(begin: Start, tmp_path: Path) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    opened(app)
    app.activity.use(LoadPair(tmp_path, None))
    app.until(lambda: not app.loader.running)
    assert app.dialog(PickerDialog).isVisible(), "it was chosen elsewhere"
    engine.load_error = refuse("Damaged.")
    look_at(app, "demo")
    card(app).main.click()
    app.until(lambda: not app.loader.running)
    assert "Damaged." in app.dialog(PickerDialog).message.text() and state(app) == "ready"
    engine.load_error = None
    card(app).main.click()
    app.until(lambda: app.window.dialogs.find(PickerDialog) is None)
    assert state(app) == "loaded"
