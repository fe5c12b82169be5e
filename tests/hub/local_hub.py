"""The local hub and its content host: what they hold, what they answer, and what goes wrong.

Without sockets: this process's requests get their answers by a call. `tests/hub/server.py` serves the same answers over sockets.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote

import httpx2
from huggingface_hub import set_client_factory

from mlx_engine.network.hub_session import check_hub_use
from tests.hub.repos import Repo, StoredFile

PIECE = 64 * 1024
_numbers = count(1)


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer of the content host.

    drop, reset: the connection ends after `at` bytes of the body, with FIN or RST. stall: nothing more comes after them. status: an
    error `code` instead of the body. wrong: the byte at `at` of the body is changed. short: fewer bytes than requested, but
    well-formed. expired: the signed link is refused.
    """

    kind: str
    at: int = 0
    code: int = 503


# how the client sees the end of a connection; over sockets, what causes that
ENDS = {"drop": httpx2.RemoteProtocolError, "reset": httpx2.ReadError, "stall": httpx2.ReadTimeout}


def answer(status: int, body: bytes | Iterator[bytes] = b"", **headers: str) -> httpx2.Response:
    """Return an answer; a body of pieces has no length unless a header says it."""
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    if isinstance(body, bytes):
        pairs.append((b"Content-Length", str(len(body)).encode()))
    return httpx2.Response(status, headers=pairs, content=body)


class LocalHub:
    """`with LocalHub() as hub:` answers until the block ends. All attributes may be changed inside the block."""

    open: ClassVar[list["LocalHub"]] = []

    def __init__(self, rate: float | None = None) -> None:
        self.url, self.content_url = (f"http://{name}{next(_numbers)}.test" for name in ("hub", "content"))
        self.repos: dict[str, Repo] = {}
        self.renamed: dict[str, str] = {}
        self.accounts: dict[str, str] = {}  # names by token
        self.ranges = True  # whether the content host honours Range
        self.rate = rate  # bytes per second over all connections
        self.faults: deque[Fault | None] = deque()  # for the coming answers of the content host, one each
        # for the next answers of the hub: status codes, optionally with an X-Error-Message
        self.api_faults: deque[int | tuple[int, str]] = deque()
        # instead of the usual answer, by a part of the address
        self.instead: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {}
        self.on_content: Any = None  # called with the number of each content request before that and later ones are answered
        self.sent: Counter[str] = Counter()  # body bytes by digest
        self.asked: list[tuple[str, str, str | None]] = []  # method, path, Authorization
        self.content_requests = 0
        self.lock, self.turn = threading.Lock(), threading.Lock()
        self._allowed: int | None = None
        self._more = threading.Condition()
        self._paid = 0.0

    def __enter__(self) -> "LocalHub":
        self.open.append(self)
        set_client_factory(_client)
        return self

    def __exit__(self, *_: object) -> None:
        self.open.remove(self)
        self.allow(None)

    def repo(self, name: str, files: dict[str, bytes], **options: Any) -> Repo:
        repo = Repo(**options)
        repo.commit(files)
        self.repos[name] = repo
        return repo

    def file(self, digest: str) -> StoredFile | None:
        for repo in self.repos.values():
            for tree in repo.commits.values():
                for file in tree.values():
                    if file.digest == digest:
                        return file
        return None

    def allow(self, count: int | None) -> None:
        """Let the content host send `count` more bytes over all connections, then pause it; None: no limit.

        This way a test decides what has arrived, independent of the machine's speed.
        """
        with self._more:
            self._allowed = count
            self._more.notify_all()

    def take_back(self, digest: str, count: int) -> None:
        """Uncount bytes whose client had disconnected."""
        with self.lock, self._more:
            self.sent[digest] -= count
            self._allowed = None if self._allowed is None else self._allowed + count
            self._more.notify_all()

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        with self.lock:
            self.asked.append((request.method, request.url.raw_path.decode(), request.headers.get("Authorization")))
        give = next((give for part, give in self.instead.items() if part in str(request.url)), self.usual)
        response = give(request)
        if request.method == "HEAD":
            response.stream = httpx2.ByteStream(b"")
        return response

    def usual(self, request: httpx2.Request) -> httpx2.Response:
        return self._content(request) if str(request.url).startswith(self.content_url) else self._hub(request)

    # --- Listings, and where each file is -----------------------------------------------------------------------------------------
    def _hub(self, request: httpx2.Request) -> httpx2.Response:
        with self.lock:
            fault = self.api_faults.popleft() if self.api_faults else 0
        if isinstance(fault, tuple):
            return answer(fault[0], b"{}", X_Error_Message=fault[1])
        if fault:
            return answer(fault, b"{}", Retry_After="0")
        target = request.url.raw_path.decode()
        path, _, query = target.partition("?")
        parts = [unquote(part) for part in path.strip("/").split("/")]
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if parts == ["api", "models"]:
            words = parse_qs(query).get("search", [""])[0].lower()
            names = [name for name in sorted(self.repos) if words in name.lower()]
            return httpx2.Response(200, json=[{"id": name, "modelId": name} for name in names])
        if parts == ["api", "whoami-v2"]:
            account = self.accounts.get(bearer)
            found = httpx2.Response(200, json={"name": account, "type": "user"})
            return found if account else answer(401, b'{"error":"Invalid token"}')
        listing = parts[0] == "api" and parts[1:2] in (["models"], ["datasets"])
        place = parts[1 if parts[1] == "datasets" else 2 :] if listing else parts
        length = 3 if place[:1] == ["datasets"] else 2  # `repos` has a dataset as datasets/OWNER/NAME
        name, rest = "/".join(place[:length]), place[length:]
        if name in self.renamed:
            return answer(307, Location=target.replace(name, self.renamed[name], 1))
        repo = self.repos.get(name)
        if repo is None or (repo.private and bearer not in repo.admitted):
            return answer(404 if bearer else 401, b'{"error":"Repository not found"}', X_Error_Code="RepoNotFound")
        if listing:
            return _listing(name, repo, rest)
        if rest[:1] == ["resolve"] and len(rest) > 2:
            return self._resolve(request, repo, rest[1], "/".join(rest[2:]), bearer)
        return answer(404)

    def _resolve(self, request: httpx2.Request, repo: Repo, revision: str, path: str, bearer: str) -> httpx2.Response:
        if repo.gated and bearer not in repo.admitted:
            return answer(403 if bearer else 401, X_Error_Code="GatedRepo", X_Error_Message="Access to it is restricted.")
        commit = repo.resolve(revision) or ""
        if (files := repo.commits.get(commit)) is None:
            return answer(404, X_Error_Code="RevisionNotFound")
        file = files.get(path)
        if file is None:
            return answer(404, X_Error_Code="EntryNotFound")
        if file.lfs:
            return answer(
                302,
                Location=f"{self.content_url}/{file.digest}?signature=1",
                X_Linked_Etag=f'"{file.sha256}"',
                X_Linked_Size=str(len(file.data)),
                X_Repo_Commit=commit,
            )
        return self._file(request, file, held=False, X_Repo_Commit=commit)

    # --- The bytes of files -------------------------------------------------------------------------------------------------------
    def _content(self, request: httpx2.Request) -> httpx2.Response:
        with self.lock:
            self.content_requests += 1
            number = self.content_requests
            fault = self.faults.popleft() if self.faults else None
        with self.turn:
            if self.on_content:
                self.on_content(number)
        file = self.file(request.url.path.strip("/"))
        if file is None:
            return answer(404)
        if fault and fault.kind == "status":
            return answer(fault.code, b"try later", Retry_After="0")
        if fault and fault.kind == "expired":
            return answer(403, b"Request has expired")
        return self._file(request, file, fault)

    def _file(
        self, request: httpx2.Request, file: StoredFile, fault: Fault | None = None, held: bool = True, **headers: str
    ) -> httpx2.Response:
        """Return the file or a range of it, with at most one fault."""
        size = len(file.data)
        span = request.headers.get("Range") if self.ranges else None
        first, end = 0, size
        if span:
            start, _, last = span.removeprefix("bytes=").partition("-")
            first, end = int(start), min(int(last) + 1 if last else size, size)
            if first >= size:
                return answer(416, Content_Range=f"bytes */{size}")
        body = memoryview(file.data)[first:end]
        if fault and fault.kind == "wrong" and len(body):
            spoilt = bytearray(body)
            spoilt[fault.at % len(body)] ^= 0x55
            body = memoryview(spoilt)
        if fault and fault.kind == "short" and span:
            body = body[: max(1, fault.at % len(body))]
        if self.ranges:
            headers["Accept_Ranges"] = "bytes"
        if span:
            headers["Content_Range"] = f"bytes {first}-{first + len(body) - 1}/{size}"
        pieces = self._pieces(file.digest, body, fault, held)
        return answer(206 if span else 200, pieces, Content_Length=str(len(body)), ETag=f'"{file.digest}"', **headers)

    def _pieces(self, digest: str, body: memoryview, fault: Fault | None, held: bool) -> Iterator[bytes]:
        end = ENDS.get(fault.kind) if fault else None
        left = body[: fault.at % (len(body) + 1)] if fault and end else body
        while left:
            count = self._draw(len(left[:PIECE]), held)
            with self.lock:
                self.sent[digest] += count  # before sending: a client that has everything may check immediately
            yield bytes(left[:count])
            left = left[count:]
        if end:
            raise end("the hub's fault")

    def _draw(self, count: int, held: bool) -> int:
        """Wait until bytes are allowed, and may be sent under the rate. Return how many of `count`."""
        if held:
            with self._more:
                self._more.wait_for(lambda: self._allowed is None or self._allowed > 0)
                if self._allowed is not None:
                    count = min(count, self._allowed)
                    self._allowed -= count
        if self.rate is not None:
            with self.lock:
                now = time.monotonic()
                self._paid = max(self._paid, now - 0.01) + count / self.rate
                wait = self._paid - now
            time.sleep(max(wait, 0.0))
        return count


def _listing(name: str, repo: Repo, rest: list[str]) -> httpx2.Response:
    commit = repo.resolve(rest[1] if len(rest) > 1 else "main") or ""
    if (found := repo.commits.get(commit)) is None:
        return answer(404, b'{"error":"Invalid rev id"}', X_Error_Code="RevisionNotFound")

    def entry(names: tuple[str, str, str], path: str, file: StoredFile) -> dict[str, Any]:
        size = len(file.data)
        lfs = {"lfs": {names[2]: file.sha256, "size": size, "pointerSize": 130}} if file.lfs else {}
        return {names[0]: path, "size": size, names[1]: file.blob_id, **lfs}

    files = found.items()
    if rest[:1] == ["tree"]:
        return httpx2.Response(200, json=[{"type": "file", **entry(("path", "oid", "oid"), *file)} for file in files])
    siblings = [entry(("rfilename", "blobId", "sha256"), *file) for file in files]
    gated = "manual" if repo.gated else False
    name = name.removeprefix("datasets/")
    info = {"id": name, "modelId": name, "sha": commit, "gated": gated, "tags": list(repo.tags), "siblings": siblings}
    return httpx2.Response(200, json=info)


def _client() -> httpx2.Client:
    """Like the client of `hub_session`, but without sockets."""
    hooks = {"request": [check_hub_use]}
    return httpx2.Client(transport=httpx2.MockTransport(_by_call), event_hooks=hooks, follow_redirects=True, timeout=None)


def _by_call(request: httpx2.Request) -> httpx2.Response:
    if request.headers["User-Agent"] == "slipstream":
        assert all(request.extensions["timeout"].values()), "a silent hub would be waited for forever"
    if request.url.scheme not in ("http", "https"):
        raise httpx2.UnsupportedProtocol(f"no transport for {request.url}")
    for hub in LocalHub.open:
        if str(request.url).startswith((hub.url, hub.content_url)):
            given = hub.answer(request)
            return httpx2.Response(given.status_code, headers=given.headers, stream=given.stream)  # unread
    raise httpx2.ConnectError(f"no server at {request.url.host}")
