"""The download queue: order, pause, resume, cancel, quitting and kill -9."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.contract import files
from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads import download_queue
from mlx_engine.models.downloads.bandwidth import download_limit
from mlx_engine.models.downloads.download import Download
from mlx_engine.models.downloads.download_queue import (
    DownloadQueue,
    PairFailed,
    PairProgress,
    PairReady,
    QueueChanged,
    QueueEvent,
    QueueFile,
    text_from_json,
)
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import IMPATIENT, NO_NETWORK, PAIR, SILENCE, expect_whole

MB = 1_000_000
OTHER = Pair("owner/other", "owner/drafter")


class Events:
    """Collects events, and waits for one."""

    def __init__(self) -> None:
        self.events: list[QueueEvent] = []
        self._came = threading.Condition()

    def __call__(self, event: QueueEvent) -> None:
        with self._came:
            self.events.append(event)
            self._came.notify_all()

    def wait(self, kind: type, pair: Pair | None = None, after: int = 0, done: int = 0) -> QueueEvent:
        """Wait for the first event of a kind and pair after an index, with at least `done` bytes."""

        def fits(event: QueueEvent) -> bool:
            if not isinstance(event, kind) or (isinstance(event, PairProgress) and event.progress.done < done):
                return False
            return pair is None or event.pair == pair  # type: ignore[attr-defined]

        def found() -> QueueEvent | None:
            return next(filter(fits, self.events[after:]), None)

        with self._came:
            assert self._came.wait_for(found, 2 * SILENCE), f"no {kind.__name__} came: {self.events[-3:]}"
            event = found()
            assert event is not None
            return event


@pytest.fixture
def hub(local_hub: LocalHub) -> LocalHub:
    return filled(local_hub)


def filled(local: LocalHub) -> LocalHub:
    local.repo("owner/target", target_files(MB))
    local.repo("owner/other", target_files(MB, seed=5))
    local.repo("owner/drafter", drafter_files(300_000))
    return local


@contextmanager
def working(local: LocalHub, cache: HubCache, reported: Events) -> Iterator[DownloadQueue]:
    queue = DownloadQueue(reported, Hub(local.url, read_timeout=SILENCE), cache, retry=IMPATIENT, connections=2)
    try:
        yield queue
    finally:
        queue.close()


def test_pairs_are_downloaded_in_order_and_leave_the_queue(hub: LocalHub, cache: HubCache) -> None:
    reported = Events()
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        queue.add(OTHER)
        ready = reported.wait(PairReady, PAIR)
        reported.wait(PairReady, OTHER)
    assert isinstance(ready, PairReady) and all(folder.is_dir() for folder in ready.folders)
    assert [event.pair for event in reported.events if isinstance(event, PairReady)] == [PAIR, OTHER]
    expect_whole(hub, cache)
    expect_whole(hub, cache, OTHER)
    assert QueueFile().read() == ()


def test_pausing_a_pair_continues_with_the_next(hub: LocalHub, cache: HubCache) -> None:
    reported = Events()
    hub.allow(500_000)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        queue.add(OTHER)
        reported.wait(PairProgress, PAIR, done=200_000)
        queue.pause(PAIR)
        reported.wait(PairProgress, OTHER)  # the pause has ended the transfer, which could be whole otherwise
        hub.allow(None)
        reported.wait(PairReady, OTHER)
        assert [(one.pair, one.state) for one in QueueFile().read()] == [(PAIR, "paused")]
        queue.add(PAIR)
        reported.wait(PairReady, PAIR)
    expect_whole(hub, cache)


def test_a_pair_that_is_complete_cannot_be_paused(hub: LocalHub, cache: HubCache) -> None:
    """It came back, paused, if its download ended just before."""
    reported = Events()
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        reported.wait(PairReady, PAIR)
        queue.pause(PAIR)
    assert QueueFile().read() == ()


def test_cancelling_keeps_repos_that_other_pairs_need(hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    reported, discarded, discard = Events(), list[str](), cache.discard
    monkeypatch.setattr(cache, "discard", lambda repo: (discarded.append(repo), discard(repo))[1])
    hub.allow(600_000)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        queue.add(OTHER)
        reported.wait(PairProgress, PAIR, done=450_000)  # at most 300,000 are of the drafter
        assert queue.cancel(PAIR) > 100_000 and discarded == ["owner/target"]
        hub.allow(None)
        reported.wait(PairReady, OTHER)
    assert not cache.folder("owner/target").exists()
    expect_whole(hub, cache, OTHER)


def test_a_failed_pair_does_not_stop_the_others(hub: LocalHub, cache: HubCache) -> None:
    reported = Events()
    nothing = Pair("owner/nothing")
    with working(hub, cache, reported) as queue:
        queue.add(nothing)
        queue.add(PAIR)
        failed = reported.wait(PairFailed, nothing)
        reported.wait(PairReady, PAIR)
    assert isinstance(failed, PairFailed) and "Can't find owner/nothing" in str(failed.reason)
    (left,) = QueueFile().read()
    assert (left.pair, left.state) == (nothing, "failed") and "Can't find" in str(left.reason)


@pytest.mark.parametrize("written", [True, False])
def test_a_failure_during_cancelling_is_not_reported(
    hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    reported, fetching = Events(), threading.Event()

    def failing(self: Download, stop: threading.Event, *_: object) -> None:
        fetching.set()
        stop.wait()
        raise UserError("no_network", "No network.")

    def refuse(*_: object) -> None:
        raise UserError("full", "downloads.json can't be written (No space left on device).")

    monkeypatch.setattr(Download, "run", failing)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        assert fetching.wait(SILENCE)
        if not written:
            monkeypatch.setattr(download_queue, "write_json", refuse)
        queue.cancel(PAIR)
        assert queue._queue() == ()
    assert [type(event) for event in reported.events] == [QueueChanged, QueueChanged]
    assert reported.events[-1] == QueueChanged(())


def test_the_queue_survives_a_full_disk(hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a failed nor a finished pair can be saved; neither is tried again and again."""
    reported, full = Events(), threading.Event()
    write = download_queue.write_json

    def write_json(path: Path, value: object) -> None:
        if full.is_set():
            raise UserError("full", "{path} can't be written (No space left on device).", path=str(path))
        write(path, value)

    monkeypatch.setattr(download_queue, "write_json", write_json)
    nothing = Pair("owner/nothing")
    hub.allow(300_000)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        queue.add(nothing)
        reported.wait(PairProgress, PAIR)
        full.set()
        hub.allow(None)
        reported.wait(PairReady, PAIR)
        assert "Can't find" in str(reported.wait(PairFailed, nothing).reason)  # type: ignore[union-attr]
        after = len(reported.events)
        assert [(one.pair, one.state) for one in queue._queue()] == [(nothing, "failed")]
        full.clear()
        queue.add(OTHER)
        reported.wait(PairReady, OTHER, after)
        assert not any(isinstance(event, PairFailed | PairReady) and event.pair != OTHER for event in reported.events[after:])
        queue.add(nothing)
        reported.wait(PairFailed, nothing, after)


def test_unsaved_changes_are_dropped_once_they_are_obsolete(
    hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program removes the pair and adds it again."""

    def refuse(*_: object) -> None:
        raise UserError("full", "downloads.json is out of reach (No space left on device).")

    def shown() -> list[tuple[str, str]]:
        return [(one.state, str(one.reason or "")) for one in queue._queue()]

    QueueFile().put(PAIR, state="paused")
    with working(hub, cache, Events()) as queue:
        with monkeypatch.context() as patched:
            patched.setattr(download_queue, "write_json", refuse)
            queue.cancel(PAIR)
        with monkeypatch.context() as patched:
            patched.setattr(download_queue, "read_json", refuse)
            assert shown() == []  # which does not say that it has left the file
        assert shown() == [] and QueueFile().find(PAIR) is not None
        QueueFile().remove(PAIR)
        assert shown() == []
        QueueFile().put(PAIR, state="paused")
        assert shown() == [("paused", "")]
        for step in ("cancelled", "failed"):
            with monkeypatch.context() as patched:
                patched.setattr(download_queue, "write_json", refuse)
                queue._fail(PAIR, NO_NETWORK)
            assert shown() == [("failed", "No network.")]
            queue.cancel(PAIR) if step == "cancelled" else queue._fail(PAIR, NO_NETWORK)
            QueueFile().put(PAIR, state="paused", reason=None)
            assert shown() == [("paused", "")]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("a bug")])
def test_unexpected_errors_are_reported_and_the_queue_continues(
    hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    reported, run = Events(), Download.run

    def failing(self: Download, *given: Any) -> Any:
        if self.pair == PAIR:
            raise error
        return run(self, *given)

    monkeypatch.setattr(Download, "run", failing)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        queue.add(OTHER)
        failed = reported.wait(PairFailed, PAIR)
        reported.wait(PairReady, OTHER)
    assert isinstance(failed, PairFailed) and str(error.args[-1]) in str(failed.reason)
    (left,) = QueueFile().read()
    assert (left.pair, left.state, left.reason) == (PAIR, "failed", failed.reason)


def test_the_queue_survives_quitting(hub: LocalHub, cache: HubCache) -> None:
    reported = Events()
    hub.allow(500_000)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        queue.add(OTHER)
        reported.wait(PairProgress, PAIR, done=200_000)
    hub.allow(None)
    assert [one.pair for one in QueueFile().read()] == [PAIR, OTHER]
    pinned = hub.repos["owner/target"].branches["main"]
    hub.repos["owner/target"].commit(target_files(MB, seed=9))
    again = Events()
    with working(hub, cache, again):
        again.wait(PairReady, OTHER)
    assert cache.snapshot("owner/target", pinned).is_dir(), "the pair is finished at its first revision"


def test_only_one_process_works_on_a_queue(hub: LocalHub, cache: HubCache) -> None:
    with working(hub, cache, Events()), pytest.raises(UserError, match="Another copy of Slipstream is already downloading"):
        DownloadQueue(Events(), Hub(hub.url), cache)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "3", "[3, null, {}]"),
        *(
            '[{"target": "../x"}]',
            '[{"target": "a/b", "drafter": []}]',
            '[{"target": "a/b", "state": "paused", "pins": {"a/b": "../x"}}]',
        ),
    ],
)
def test_the_queue_starts_with_a_damaged_file(hub: LocalHub, cache: HubCache, text: str) -> None:
    QueueFile().path.parent.mkdir(parents=True)
    QueueFile().path.write_text(text)
    assert all(one.pins == {} for one in QueueFile().read())
    reported = Events()
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        reported.wait(PairReady, PAIR)
    aside = QueueFile().path.with_suffix(".damaged.json")
    assert aside.exists() == (not text.startswith("[")) and (not aside.exists() or aside.read_text() == text)


def test_an_unreadable_queue_file_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    QueueFile().put(PAIR, state="paused")
    before = QueueFile().path.read_text()
    real = files.open_regular

    def failing(path: Path) -> Any:
        if path == QueueFile().path:
            raise PermissionError(13, "Permission denied")
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "open_regular", failing)
        with pytest.raises(UserError, match=r"Can't read “.*downloads\.json” \(Permission denied\)"):
            QueueFile().put(OTHER)
        assert QueueFile().read() == ()
    assert QueueFile().path.read_text() == before


def test_the_process_takes_commands_and_resumes_after_kill_9(tmp_path: Path, served_hub: ServedHub, cache: HubCache) -> None:
    hub = filled(served_hub)
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(cache.root), "HF_HUB_OFFLINE": "0"}

    def start() -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "mlx_engine.models.downloads.download_queue"]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parents[3])

    def until(process: subprocess.Popen[str], kind: str) -> dict:
        assert process.stdout is not None
        for line in process.stdout:
            if (event := json.loads(line))["event"] == kind:
                return event
        raise AssertionError(f"it ended before “{kind}”")

    hub.allow(500_000)
    first = start()
    assert first.stdin is not None
    for command in ("nonsense", '{"do": "fly"}', '{"do": "limit", "bytes_per_s": "fast"}', '{"do": "limit", "bytes_per_s": -1}'):
        print(command, file=first.stdin, flush=True)
        assert until(first, "error")["reason"]["code"] == "invalid_queue_command"
    print(json.dumps({"do": "limit", "bytes_per_s": 50 * MB}), file=first.stdin, flush=True)
    print(json.dumps({"do": "add", "target": "owner/target", "drafter": "owner/drafter"}), file=first.stdin, flush=True)
    until(first, "progress")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    hub.allow(None)
    second = start()
    assert until(second, "ready")["target"] == "owner/target"
    second.communicate(timeout=2 * SILENCE)  # its standard input ends
    assert second.returncode == 0
    expect_whole(hub, cache)


def test_events_are_in_order(hub: LocalHub, cache: HubCache) -> None:
    reported = Events()
    hub.allow(0)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
        hub.allow(None)  # after the queue with the pair was reported
        reported.wait(QueueChanged, after=reported.events.index(reported.wait(PairReady)))
    kinds = [type(event) for event in reported.events]
    ready = kinds.index(PairReady)
    assert kinds[0] is QueueChanged and kinds[ready + 1 :] == [QueueChanged]
    assert set(kinds[1:ready]) == {PairProgress}
    done = [event.progress.done for event in reported.events if isinstance(event, PairProgress)]
    assert done == sorted(done)
    assert [len(event.queue) for event in reported.events if isinstance(event, QueueChanged)] == [1, 0]


def test_a_pair_is_reported_before_its_progress(hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if `add` is slow to report it, and no poll is due."""
    reported, put = Events(), QueueFile.put

    def slow(self: QueueFile, *given: Any, **named: Any) -> None:
        put(self, *given, **named)
        reported.wait(PairReady)

    monkeypatch.setattr(QueueFile, "put", slow)
    monkeypatch.setattr(DownloadQueue, "_poll", lambda self: None)
    with working(hub, cache, reported) as queue:
        queue.add(PAIR)
    assert isinstance(reported.events[0], QueueChanged) and len(reported.events[0].queue) == 1


def test_the_reason_that_an_earlier_version_stored_is_kept() -> None:
    QueueFile().path.parent.mkdir(parents=True, exist_ok=True)
    failed = {"target": "owner/target", "drafter": "owner/drafter", "state": "failed", "pins": {}, "words": "The disk is full."}
    QueueFile().path.write_text(json.dumps([failed, {**failed, "drafter": None, "words": ""}]), encoding="utf-8")
    assert [str(queued.reason) for queued in QueueFile().read()] == ["The disk is full.", "None"]


class TestCommands:
    """Standard input of the process, in this one."""

    def run(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *lines: str) -> list[dict]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in lines)))
        assert download_queue.main() == 0
        return [event for line in capsys.readouterr().out.splitlines() if (event := json.loads(line))["event"] == "error"]

    def test_invalid_commands_are_refused(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        lines = ["", "[]", "3", '{"do": "limit", "bytes_per_s": true}', '{"do": "limit", "bytes_per_s": NaN}', "[" * 100_000]
        lines += ['{"do": "limit", "bytes_per_s": "5"}', '{"do": "fly", "target": "a/b"}', '{"do": ["add"], "target": "a/b"}']
        events = self.run(capsys, monkeypatch, *lines)
        assert [event["reason"]["code"] for event in events] == ["invalid_queue_command"] * len(lines)
        assert download_limit() is None

    def test_a_bug_in_a_command_is_reported_as_one(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def pause(*_: object) -> None:
            raise KeyError("a bug")

        monkeypatch.setattr(download_queue.DownloadQueue, "pause", pause)
        [event] = self.run(capsys, monkeypatch, '{"do": "pause", "target": "a/b"}')  # a command may leave out the drafter
        assert event["reason"]["code"] == "download_bug" and event["target"] == "a/b"


@pytest.mark.parametrize(
    "values",
    [{"tokens": None}, {"tokens": [1]}, {"inner": {"code": "x"}}, {"inner": {"code": "x", "message": "", "values": {"a": None}}}],
)
def test_saved_texts_with_invalid_values_are_ignored(values: dict) -> None:
    assert text_from_json({"code": "x", "message": "y", "values": values}) is None
