"""The search of the hub in the Models window."""

import json
import threading
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.session import model_storage
from app.session.hub_search import MOST, search_words
from app.session.model_list import Candidate, Variant
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.models.downloads.hub import FoundRepo, Hub
from mlx_engine.models.library.catalog import CatalogEntry, custom_catalog_file
from mlx_engine.models.library.pair import Pair, custom_pairs
from mlx_engine.network import offline
from tests.app.conftest import Running, Start
from tests.app.views.models.picker_page import PAIR, card, opened, state
from tests.hub.local_hub import LocalHub, answer
from tests.hub.repos import TARGET, config, drafter_files, target_files


def searching(app: Running, words: str) -> PickerDialog:
    """Open the Models window, and search the hub."""
    opened(app)
    picker = app.dialog(PickerDialog)
    picker.search.setText(words)
    app.services.picker.rows.narrow(words, "hub")
    return picker


def rows(app: Running) -> dict[str, Candidate]:
    return {one.id.removeprefix("hub:"): one for one in app.services.picker.rows.found}


def checked(app: Running, count: int) -> dict[str, Candidate]:
    app.until(lambda: len(rows(app)) == count and not any(one.is_unchecked for one in rows(app).values()))
    return rows(app)


def test_each_model_shows_what_it_needs_or_why_it_cannot_run(begin: Start, hub: LocalHub) -> None:
    hub.repo("maker/zoo-chat", target_files(300_000), tags=("license:mit",))
    hub.repo("maker/zoo-gguf", {"zoo.gguf": b"GGUF", "config.json": config(**TARGET)})
    hub.repo("maker/zoo-draft", drafter_files(100_000))
    hub.repo("maker/zoo-image", target_files(100_000) | {"config.json": config(**TARGET | {"model_type": "stable_zoo"})})
    hub.repo("maker/zoo-secret", target_files(100_000), gated=True)
    app = begin()
    searching(app, "zoo")
    found = checked(app, 5)
    chat = found["maker/zoo-chat"]
    assert chat.why_not is None and chat.shown.fit is not None and chat.shown.license == "mit" and chat.family == "qwen3"
    assert chat.summary == f"maker · 300 KB · {chat.verdict_text}"
    reasons = {name: str(one.why_not) for name, one in found.items() if one.why_not}
    assert "safetensors" in reasons["maker/zoo-gguf"] and "stable_zoo" in reasons["maker/zoo-image"]
    assert set(reasons) == set(found) - {"maker/zoo-chat", "maker/zoo-secret"}
    assert found["maker/zoo-secret"].summary == "maker · Access needed"
    assert found["maker/zoo-draft"].verdict_text == "DFlash drafter" and "can't run alone" in reasons["maker/zoo-draft"]
    assert found["maker/zoo-gguf"].verdict_text == "Can't run"
    app.services.picker.rows.select("hub:maker/zoo-gguf")
    assert card(app).problem.isVisible() and "safetensors" in card(app).problem.label.text() and not card(app).main.isVisible()


def test_a_click_downloads_a_found_model_with_its_drafter(begin: Start, hub: LocalHub) -> None:
    hub.repo("maker/zoo-4bit", target_files(300_000))
    hub.repo("other/zoo-DFlash", drafter_files(100_000))
    hub.repo("other/zoo-DFlash-wrong", drafter_files(100_000) | {"config.json": config(**TARGET | {"hidden_size": 32})})
    app = begin()
    searching(app, "zoo-4bit")
    checked(app, 1)
    picker, pair = app.services.picker, Pair("maker/zoo-4bit", "other/zoo-DFlash")
    app.until(lambda: picker.rows.current is not None and picker.rows.current.shown.pair == pair)
    app.until(lambda: picker.can_download)
    assert card(app).main.text().startswith("Download ") and card(app).drafters.count() == 2
    card(app).main.click()
    app.until(lambda: picker.rows.current is not None and picker.rows.current.shown.folders is not None)
    assert [one.pair for one in custom_pairs()] == [pair]
    assert picker.rows.filter == "all" and picker.state(picker.rows.current) == "ready"  # type: ignore[arg-type]
    card(app).delete.click()
    app.until(lambda: bool(picker.storage.deleted))
    searching(app, "zoo-4bit")
    checked(app, 1)
    picker.rows.select("hub:maker/zoo-4bit")
    app.until(lambda: picker.can_download)
    card(app).main.click()
    app.until(lambda: state(app) == "ready")
    assert not picker.storage.deleted, "quicker than fetching it again"


def test_a_new_search_replaces_one_that_is_still_running(begin: Start, hub: LocalHub) -> None:
    for name in ("zoo", "yak"):
        hub.repo(f"maker/{name}", target_files(100_000))
    gate = threading.Event()

    def late(request: httpx2.Request) -> httpx2.Response:
        gate.wait(60)
        return hub.usual(request)

    hub.instead["search=zoo"] = late
    app = begin()
    picker = searching(app, "zoo")
    app.until(lambda: any("search=zoo" in path for _, path, _ in hub.asked))
    picker.search.setText("yak")
    app.until(lambda: list(rows(app)) == ["maker/yak"])
    asked = len(hub.asked)
    gate.set()
    checked(app, 1)
    assert not any("zoo" in path for _, path, _ in hub.asked[asked:]) and list(rows(app)) == ["maker/yak"]
    picker.filters.button(0).click()
    assert not rows(app) and not app.services.picker.hub_search.words


@pytest.mark.parametrize(
    ("fault", "words"),
    [(503, "busy or down"), (429, "busy or down"), ("offline", "without access to the model hub"), ("nonsense", "is invalid")],
)
def test_a_failed_search_says_why_and_can_be_repeated(
    begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, fault: object, words: str
) -> None:
    hub.repo("maker/zoo", target_files(100_000))
    if fault == "offline":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    else:
        hub.instead["search=zoo"] = lambda request: answer(
            fault if isinstance(fault, int) else 200, json.dumps([{"x": 1}]).encode()
        )
    app = begin()
    picker = searching(app, "zoo")
    app.until(lambda: words in picker.empty.text())
    assert picker.ask_hub.text() == "Try Again" and picker.ask_hub.isVisible() and not rows(app)
    hub.instead.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    picker.ask_hub.click()
    assert words not in picker.empty.text()
    checked(app, 1)


def test_the_focus_stays_at_the_search_when_the_list_is_hidden(begin: Start, hub: LocalHub) -> None:
    """It went to *Add…*, which the next key then pressed."""
    app = begin()
    opened(app)
    picker = app.dialog(PickerDialog)
    picker.list.setFocus()
    picker.filters.buttons()[-1].click()
    app.until(picker.empty.isVisible)
    assert picker.focusWidget() is picker.search


def test_turning_off_offline_repeats_the_search(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repo("maker/zoo", target_files(100_000))
    search = Hub.search

    def checked_search(self: Hub, words: str, most: int) -> list[FoundRepo]:  # Offline has no effect on this computer's hub
        if offline.is_offline():
            raise offline.refusal("hub.example")
        return search(self, words, most)

    monkeypatch.setattr(Hub, "search", checked_search)
    offline.set_offline(True)
    app = begin()
    picker = searching(app, "")
    assert picker.turn_off.isVisible() and picker.empty.text() == "Offline is on, so the hub can't be searched."
    picker.search.setText("zoo")
    app.until(lambda: "hub.example" in picker.empty.text())
    assert picker.turn_off.isVisible()
    picker.turn_off.click()
    checked(app, 1)
    assert not offline.is_offline() and not picker.turn_off.isVisible()


def test_a_hub_that_fails_during_checks_is_not_asked_for_every_row(begin: Start, hub: LocalHub) -> None:
    for number in range(MOST):
        hub.repo(f"maker/zoo-{number}", target_files(10_000))
    hub.instead["/revision/"] = lambda request: answer(503, b"{}")
    app = begin()
    picker = searching(app, "zoo")
    app.until(lambda: "busy or down" in picker.hub_problem.text())
    assert len(rows(app)) == MOST and all(one.summary == "maker · Not checked" for one in rows(app).values())
    assert sum("/revision/" in path for _, path, _ in hub.asked) < MOST
    assert picker.again.isVisible()
    hub.instead.clear()
    picker.again.click()
    checked(app, MOST)
    assert all(one.shown.checked for one in rows(app).values()) and not picker.hub_problem.isVisible()


def test_drafters_that_cannot_be_looked_up_are_asked_for_once(begin: Start, hub: LocalHub) -> None:
    hub.repo("maker/zoo", target_files(10_000))
    hub.instead["search=zoo-DFlash"] = lambda request: answer(503, b"{}")
    app = begin()
    searching(app, "maker/zoo")
    app.until(lambda: "couldn't be looked up" in rows(app)["maker/zoo"].note if rows(app) else False)
    asked = [path for _, path, _ in hub.asked if "zoo-DFlash" in path]
    app.services.picker.rows.select("hub:maker/zoo")
    app.services.picker.rows.picked.emit()
    assert len(asked) == 1 and asked == [path for _, path, _ in hub.asked if "zoo-DFlash" in path]
    assert app.services.picker.can_download


@pytest.mark.parametrize("fails", [False, True])
def test_a_later_search_gets_the_drafters_that_an_earlier_one_looks_for(begin: Start, hub: LocalHub, fails: bool) -> None:
    hub.repo("maker/zoo-4bit", target_files(10_000))
    hub.repo("other/zoo-DFlash", drafter_files(10_000))
    gate = threading.Event()

    def late(request: httpx2.Request) -> httpx2.Response:
        gate.wait(60)
        return answer(503, b"{}") if fails else hub.usual(request)

    hub.instead["search=zoo-DFlash"] = late
    app = begin()
    picker = searching(app, "maker/zoo")
    app.until(lambda: bool(rows(app)) and "Looking for drafters" in rows(app)["maker/zoo-4bit"].note)
    picker.search.setText("maker/zoo-4")
    assert not rows(app)
    app.until(lambda: bool(rows(app)))
    gate.set()
    app.until(lambda: "Looking for drafters" not in rows(app)["maker/zoo-4bit"].note)
    found = rows(app)["maker/zoo-4bit"]
    assert len(found.variants) == (1 if fails else 2) and ("couldn't be looked up" in found.note) == fails
    assert sum("search=zoo-DFlash" in path for _, path, _ in hub.asked) == 1


@pytest.mark.parametrize(("status", "body", "words"), [(403, b"{}", "isn't allowed to read"), (200, b"[]", "is invalid")])
def test_a_temporary_refusal_is_forgotten(begin: Start, hub: LocalHub, status: int, body: bytes, words: str) -> None:
    hub.repo("maker/zoo", target_files(10_000))
    hub.instead["/revision/"] = lambda request: answer(status, body)
    app = begin()
    picker = searching(app, "zoo")
    found = checked(app, 1)["maker/zoo"]
    assert found.why_not is None and words in str(found.shown.problem) and found.summary == "maker · Not checked"
    assert words in card(app).problem.label.text() and card(app).again.isVisible()
    hub.instead.clear()
    picker.search.setText("maker/zoo")
    app.until(lambda: bool(rows(app)) and rows(app)["maker/zoo"].shown.checked)


def test_a_check_that_is_repeated_finds_drafters(begin: Start, hub: LocalHub) -> None:
    hub.repo("maker/zoo-4bit", target_files(10_000))
    hub.repo("other/zoo-DFlash", drafter_files(10_000))
    hub.instead["/revision/"] = lambda request: answer(403, b"{}")
    app = begin()
    searching(app, "zoo-4bit")
    checked(app, 1)
    hub.instead.clear()
    card(app).again.click()
    app.until(lambda: len(rows(app)["maker/zoo-4bit"].variants) == 2)


@pytest.mark.parametrize("change", ["mirror", "log in", "log out"])
def test_another_hub_or_token_is_asked_again(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setattr(model_storage, "store_token", lambda endpoint, token: "anna")
    monkeypatch.setattr(model_storage, "delete_token", lambda endpoint: True)
    monkeypatch.setattr(model_storage, "stored_token", lambda endpoint: None)
    hub.repo("maker/zoo", {"zoo.gguf": b"GGUF", "config.json": config(**TARGET)})
    app = begin()
    picker, storage = searching(app, "zoo"), app.services.picker.storage
    assert checked(app, 1)["maker/zoo"].why_not
    hub.repo("maker/zoo", target_files(10_000))
    picker.search.setText("maker/zoo")
    app.until(lambda: bool(rows(app)))
    assert rows(app)["maker/zoo"].why_not, "a refusal is kept"
    if change == "mirror":
        storage.set_mirror("https://mirror.example", str)  # HF_ENDPOINT takes precedence
    elif change == "log in":
        storage.log_in("hf_mine", str, str)
    else:
        storage.log_out(str, str)
    app.until(lambda: bool(rows(app)) and rows(app)["maker/zoo"].shown.checked)


def test_a_found_model_of_the_catalog_is_the_catalogs_pair(begin: Start, hub: LocalHub) -> None:
    """It was another row, which became a custom pair."""
    hub.repo("maker/target-2", target_files(10_000))
    app = begin()
    searching(app, "target")
    picker = app.services.picker
    app.until(lambda: {one.id for one in picker.rows.matching} == {"zebra-1b", "hub:maker/target-2"})
    picker.rows.select("zebra-1b")
    app.until(lambda: picker.can_download)
    assert card(app).title.text() == "Zebra 1B" and card(app).main.text().startswith("Download ")
    card(app).main.click()
    app.until(lambda: state(app) == "ready")
    assert not custom_pairs() and picker.rows.filter == "hub"


def test_an_entered_repo_of_the_catalog_is_selected_with_its_quantization(begin: Start, hub: LocalHub) -> None:
    hub.repo("owner/target-4bit", target_files(10_000))
    entry = json.loads(custom_catalog_file().read_text())[0]
    entry["targets"].append({"repo": "owner/target-4bit", "bits": 4})
    custom_catalog_file().write_text(json.dumps([entry]))
    app = begin()
    searching(app, "Owner/Target-4bit")
    rows = app.services.picker.rows
    app.until(lambda: [one.id for one in rows.matching] == ["zebra-1b"])
    assert rows.current is not None and rows.current.shown.pair == Pair("owner/target-4bit", "owner/drafter")


def test_a_row_of_the_hub_is_replaced_once_the_catalog_is_known(begin: Start) -> None:
    rows = begin().services.picker.rows
    entry = CatalogEntry("zebra-1b", "Zebra", (), (), None, None, None, (), "", "")
    rows.narrow("target", "hub")
    rows.put((), None, lambda one: False)
    rows.show_found([Candidate.of_repo("Owner/Target", 5)])
    assert [one.id for one in rows.matching] == ["hub:Owner/Target"] == [rows.selected]
    rows.put((Candidate("zebra-1b", "Zebra", (Variant(pair=PAIR),), entry=entry),), None, lambda one: False)
    assert [one.id for one in rows.matching] == ["zebra-1b"] == [rows.selected]


def test_answers_about_listed_pairs_end_with_the_mirror(begin: Start, hub: LocalHub) -> None:
    """The size and the license of the earlier hub stayed until the next launch."""
    app = begin()
    opened(app)
    picker = app.services.picker
    picker.rows.select("zebra-1b")
    app.until(lambda: license_of(app) == "apache-2.0")
    hub.repo("owner/target", target_files(20_000), tags=("license:mit",))
    picker.storage.set_mirror("https://mirror.example", str)  # HF_ENDPOINT takes precedence
    app.until(lambda: license_of(app) == "mit")


def test_an_answer_of_the_earlier_mirror_is_dropped(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    opened(app)
    picker, works = app.services.picker, list[tuple[Any, Any]]()
    monkeypatch.setattr(picker.background, "run", lambda work, then=None, *rest, **options: works.append((work, then)))
    picker.rows.select("zebra-1b")
    picker.check_hub()
    check, show = works[-1]
    late = check()
    hub.repo("owner/target", target_files(20_000), tags=("license:mit",))
    picker.storage.hub_changed.emit()
    show(late)
    assert license_of(app) == ""
    picker.check_hub()
    check, show = works[-1]
    show(check())
    assert license_of(app) == "mit"


def license_of(app: Running) -> str:
    """Return the license of the selected pair, if the hub was asked."""
    current = app.services.picker.rows.current
    return current.shown.license if current is not None and current.shown.checked else ""


def test_a_search_without_matches_offers_the_hub(begin: Start, hub: LocalHub) -> None:
    hub.repo("maker/zoo", target_files(10_000))
    app = begin()
    opened(app)
    picker = app.dialog(PickerDialog)
    asked = len(hub.asked)
    picker.search.setText("zoo")
    assert picker.ask_hub.isVisible() and len(hub.asked) == asked  # nothing is sent without the hub's filter
    picker.ask_hub.click()
    assert list(checked(app, 1)) == ["maker/zoo"]
    picker.search.setText("nothing like it")
    app.until(lambda: "No models on the hub match" in picker.empty.text())
    assert not picker.ask_hub.isVisible()
    picker.close()
    app.until(lambda: app.window.dialogs.find(PickerDialog) is None)
    opened(app)
    picker, rows = app.dialog(PickerDialog), app.services.picker.rows
    assert picker.search.text() == rows.search == "" and rows.filter == "all", "a new window lists all models"
    app.until(picker.card.page.isVisible)


@given(
    st.from_regex(r"[A-Za-z0-9]+/[A-Za-z0-9._-]+", fullmatch=True), st.sampled_from(["", "/tree/main", "?library=mlx", "#files"])
)
def test_a_pasted_address_is_searched_as_its_repo(repo: str, rest: str) -> None:
    for start in ("https://huggingface.co/", "http://mirror.example/", "huggingface.co/", "hf.co/"):
        assert search_words(f" {start}{repo}{rest} ") == repo
    assert search_words(repo) == repo and search_words("  two   words ") == "two words"
