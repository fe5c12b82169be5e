"""Imports, exports, and searches let the store do other work between chats."""

import base64
import hashlib
import json
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage import chat_export, encoded_files
from app.storage.chat_import import ImportCanceled, import_into, read
from app.storage.chat_search import SearchHit
from app.storage.chat_tree import Chat, Node
from app.storage.encoded_files import EncodedFiles
from app.storage.json_values import parsed
from app.storage.store import FileUsage, Snapshot, Store
from tests.app.conftest import Begin
from tests.app.pictures import picture
from tests.app.test_import_again import conversation, exported, write
from tests.app.test_transfer import json_values, summary

CHATS = 6


class InPauses:
    """What the user does in each pause: save a chat, and look at the list."""

    def __init__(self, store: Store) -> None:
        self.store, self.saved = store, 0
        self.listed: set[str] = set()  # titles that were seen

    def __call__(self, _: float = 0.0) -> None:
        chat = Chat()
        chat.ask(f"Between {self.saved}", "plain")
        self.store.save(Snapshot.of(chat, chat.root.below()))
        self.saved += 1
        self.listed |= {one.title for one in self.store.chats()}


def export_of(folder: Path, own: bool) -> Path:
    """Write an export with chats, of ChatGPT or of Slipstream."""
    data = [conversation(number, f"Question {number}", "Answer") for number in range(CHATS)]
    file = write(folder / "conversations.json", data)
    if not own:
        return file
    with closing(Store(None)) as store:
        import_into(store, file)
        record = exported(store)
    record["folders"] = [{"id": "f", "name": "Work", "created": 5.0}]
    record["chats"][0]["folder"] = "f"
    return write(folder / "own.json", record)


@pytest.mark.parametrize("own", [True, False])
def test_an_import_pauses_between_chats_and_shows_them_together(tmp_path: Path, own: bool) -> None:
    file = export_of(tmp_path, own)
    with closing(Store(None)) as store:
        pauses = InPauses(store)
        outcome = import_into(store, file, progress=pauses)
        assert len(outcome.chats) == CHATS and pauses.saved > 3 * CHATS
        assert all(title.startswith("Between") for title in pauses.listed), "an import is complete or not there"
        assert len(store.chats()) == CHATS + pauses.saved
        assert [one.project for one in store.chats()].count("f") == own
        assert len(store.search("Question")) == CHATS


@pytest.mark.parametrize("own", [True, False])
def test_an_import_can_end_at_each_pause_and_leaves_nothing(tmp_path: Path, own: bool) -> None:
    file = export_of(tmp_path, own)
    with closing(Store(None)) as counted:
        pauses = InPauses(counted)
        import_into(counted, file, progress=pauses)
    for last in range(pauses.saved):
        with closing(Store(None)) as store:
            left = [last]

            def stop(_: float, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    raise ImportCanceled

            with pytest.raises(ImportCanceled):
                import_into(store, file, progress=stop)
            assert store._db.execute("SELECT (SELECT count(*) FROM chat), (SELECT count(*) FROM folder)").fetchone() == (0, 0)
            assert store.search("Question") == ()
            assert len(import_into(store, file).chats) == CHATS


@pytest.mark.parametrize("kind", ["lines", "line", "database"])
def test_an_import_pauses_between_the_files_that_it_reads(tmp_path: Path, kind: str) -> None:
    """A reply couldn't start while hundreds of images were read."""

    def pauses(count: int) -> int:
        data = {hashlib.sha256(one).hexdigest(): one for one in (bytes([number]) * 1000 for number in range(count))}
        file = tmp_path / f"{count}"
        if kind == "database":
            with closing(Store(file)) as store:
                store._db.executemany("INSERT INTO file VALUES (?, ?)", data.items())
        else:
            files = {digest: base64.b64encode(one).decode() for digest, one in data.items()}
            record = {"format": chat_export.FORMAT, "version": chat_export.VERSION, "folders": [], "chats": [], "files": files}
            file.write_text(json.dumps(record, indent=1 if kind == "lines" else None))
        made: list[float] = []
        read(file, made.append)
        return len(made)

    assert pauses(20) >= pauses(5) + 15


def test_an_import_pauses_within_one_line_and_within_a_chat(tmp_path: Path) -> None:
    """Other threads waited for seconds while one long line was searched and parsed."""
    chat = conversation(0, "Question 0", "Answer")
    mapping = {f"extra {number}": {"id": str(number), "children": []} for number in range(500)}
    file = write(tmp_path / "conversations.json", [{**chat, "mapping": chat["mapping"] | mapping, "rest": "x" * (5 << 20)}])
    searched: list[int] = []
    EncodedFiles(file).rest(lambda: searched.append(0))
    assert len(searched) >= 5, "at least one per MiB"
    made: list[float] = []
    assert len(read(file, made.append).chats) == 1
    assert len(made) >= 500, "at least one per object"


parts_of_a_line = st.tuples(st.binary(max_size=60), st.sampled_from(["file", "text", "short", "open"]))


@given(st.lists(parts_of_a_line, max_size=8), st.integers(20, 200))
def test_files_are_found_wherever_a_line_is_cut(parts: list[tuple[bytes, str]], piece: int) -> None:
    line, expected = b"", {}
    for number, (noise, kind) in enumerate(parts):
        data = base64.b64encode(bytes([number]) * {"file": 900, "short": 9}.get(kind, 750))
        digest = hashlib.sha256(data).hexdigest()
        line += noise.replace(b'"', b"'").replace(b"\n", b" ")
        if kind == "text":
            line += b'"' + data + b'"'
            continue
        line += f'"{digest}" : "'.encode()
        if kind == "file":
            expected[digest] = (len(line), len(data))
        line += data + (b"!" if kind == "open" else b'"')
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(encoded_files, "_PIECE", piece)
        file = Path(folder) / "export.json"
        file.write_bytes(line)
        files = EncodedFiles(file)
        rest = files.rest()
    left = line
    for at, length in sorted(expected.values(), reverse=True):
        left = left[:at] + left[at + length :]
    assert rest == left


@pytest.mark.parametrize("name", ["all.json", "all.md"])
def test_an_export_pauses_between_chats_and_is_as_before(tmp_path: Path, name: str) -> None:
    with closing(Store(None)) as store:
        import_into(store, export_of(tmp_path, own=False))
        rows = [(chat, summary(chat)) for one in store.chats() if (chat := store.load(one.id)) is not None]
        pauses = InPauses(store)
        chat_export.export(rows, {}, tmp_path / name, pauses)
        assert pauses.saved >= CHATS
        whole = json.dumps(chat_export.to_json(rows, {}), ensure_ascii=False, indent=1) + "\n"
        assert name != "all.json" or (tmp_path / name).read_text() == whole


@pytest.mark.parametrize("words", ["Qu", "Question", "Question 1", "1 Question"])
def test_a_search_pauses_between_chats(tmp_path: Path, words: str) -> None:
    with closing(Store(None)) as store:
        import_into(store, export_of(tmp_path, own=False))
        before = store.search(words)
        pauses = InPauses(store)
        assert store.search(words, pauses) == before and before
        assert pauses.saved >= CHATS


@given(json_values, st.data())
def test_json_is_parsed_value_by_value_like_the_whole(value: object, data: st.DataObject) -> None:
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    at = data.draw(st.integers(0, len(text)))
    for one in (text, f" {text}\n", text[:at], text[:at] + data.draw(st.sampled_from('[]{},:" 1')) + text[at:]):
        assert _outcome(lambda one=one: parsed(one, lambda: None)) == _outcome(lambda one=one: json.loads(one))


def _outcome(work: Callable[[], object]) -> str:
    with suppress(ValueError):
        return repr(work())
    return "not JSON"


def test_messages_that_are_deleted_in_a_pause_break_no_import() -> None:
    """A regenerated reply deletes its message. The import was repeated, and failed."""
    chat, files = Chat(), picture().files
    turn = chat.ask("One", "plain")
    assert turn.asked is not None and turn.answered is not None
    with closing(Store(None)) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
        store.delete_message(turn.answered.id)
        store.restore_files([(turn.answered.id, files)])
        store.complete([(turn.answered.id, Node("user", text="One", attachments=(picture(),)))])
        assert store.usage() == FileUsage(0, 0), "no message has the file"
        store.restore_files([(turn.asked.id, files)])
        assert store.usage() == FileUsage(1, len(files[0].data))


def test_a_search_replaces_those_that_wait(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter that was typed during an import queued a search of all chats."""
    app = begin()
    app.ask("Question")
    gate, searched = threading.Event(), list[str]()
    search = Store.search

    def noted(store: Store, words: str, pause: Callable[[], object]) -> tuple[SearchHit, ...]:
        searched.append(words)
        return search(store, words, pause)

    monkeypatch.setattr(Store, "search", noted)
    found: list[tuple[SearchHit, ...]] = []
    app.services.store.read_long(lambda store, pause: gate.wait(), lambda _: None)
    for words in ("Q", "Qu", "Que", "Q"):
        app.library.search(words, found.append)
    gate.set()
    app.until(lambda: bool(found))
    app.services.store.wait(60)
    assert searched == ["Q"] and [len(hits) for hits in found] == [1]
