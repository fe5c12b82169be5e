"""The local hub and its content host, on two ports, since the real hub and its CDN are two hosts."""

import json
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.repos import Repo, StoredFile

PIECE = 64 * 1024


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer of the content host.

    drop, reset: the connection ends after `at` bytes of the body, with FIN or RST. stall: it pauses there for `seconds`, or
    until the client disconnects. status: an error `code` instead of the body. wrong: the byte at `at` of the body is changed.
    short: fewer bytes than requested, but well-formed. expired: the signed link is refused.
    """

    kind: str
    at: int = 0
    code: int = 503
    seconds: float = 0.0


class LocalHub:
    """`with LocalHub() as hub:` serves until the block ends. All attributes may be changed while it runs."""

    def __init__(self, rate: float | None = None, send_buffer: int | None = 64 * 1024) -> None:
        self.repos: dict[str, Repo] = {}
        self.renamed: dict[str, str] = {}
        self.accounts: dict[str, str] = {}  # names by token
        self.ranges = True  # whether the content host honours Range
        self.rate = rate  # bytes per second over all connections
        self.send_buffer = send_buffer  # kept small, so that what was sent and what arrived differ little
        self.faults: deque[Fault | None] = deque()  # for the coming answers of the content host, one each
        # for the next answers of the hub: status codes, optionally with an X-Error-Message
        self.api_faults: deque[int | tuple[int, str]] = deque()
        self.on_content: Any = None  # called with the number of each content request before that and later ones are answered
        self.sent: Counter[str] = Counter()  # body bytes by digest
        self.asked: list[tuple[str, str, str | None]] = []  # method, path, Authorization
        self.content_requests = 0
        self.lock, self.turn = threading.Lock(), threading.Lock()
        self._allowed: int | None = None
        self._more = threading.Condition()
        self._paid = 0.0
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> "LocalHub":
        for handler in (_Hub, _Content):
            server = _Server(("127.0.0.1", 0), type("Handler", (handler,), {"hub": self}))
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.url, self.content_url = (f"http://127.0.0.1:{server.server_address[1]}" for server in self._servers)
        return self

    def __exit__(self, *_: object) -> None:
        self.allow(None)
        for server in self._servers:
            server.shutdown()
            server.server_close()

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

    def draw(self, count: int, expect_client: Callable[[], None]) -> int:
        """Wait until bytes are allowed; return how many of `count`. Raises if the client has disconnected."""
        with self._more:
            self._more.wait_for(lambda: self._allowed is None or self._allowed > 0)
            expect_client()
            if self._allowed is None:
                return count
            count = min(count, self._allowed)
            self._allowed -= count
            return count

    def pay(self, count: int) -> None:
        """Wait until `count` more bytes may be sent under the rate."""
        if self.rate is None:
            return
        with self.lock:
            now = time.monotonic()
            self._paid = max(self._paid, now - 0.01) + count / self.rate
            wait = self._paid - now
        if wait > 0:
            time.sleep(wait)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: LocalHub
    held = False  # whether it sends only what is allowed

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.hub.send_buffer:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.hub.send_buffer)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def tell(self, value: Any) -> None:
        self.answer(200, json.dumps(value).encode(), Content_Type="application/json")

    def wanted_range(self, size: int) -> tuple[int, int] | None:
        """Return the first byte and the end of the requested range, or None."""
        asked = self.headers.get("Range")
        if not asked or not self.hub.ranges:
            return None
        first, _, last = asked.removeprefix("bytes=").partition("-")
        return int(first), min(int(last) + 1 if last else size, size)

    def serve(self, file: StoredFile, fault: Fault | None = None, **headers: str) -> None:
        """Send the file or a range of it, with at most one fault."""
        size = len(file.data)
        span = self.wanted_range(size)
        first, end = span or (0, size)
        if span and first >= size:
            return self.answer(416, Content_Range=f"bytes */{size}")
        body = memoryview(file.data)[first:end]
        if fault and fault.kind == "wrong" and len(body):
            spoilt = bytearray(body)
            spoilt[fault.at % len(body)] ^= 0x55
            body = memoryview(spoilt)
        if fault and fault.kind == "short" and span:
            body = body[: max(1, fault.at % len(body))]
            end = first + len(body)
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{file.digest}"')
        if self.hub.ranges:
            self.send_header("Accept-Ranges", "bytes")
        if span:
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "HEAD":
            return
        broken = fault.at % (len(body) + 1) if fault and fault.kind in ("drop", "reset", "stall") else None
        self.send_body(file.digest, body, broken)
        if fault and broken is not None:
            if fault.kind == "stall":
                self.stall(fault.seconds)
                self.send_body(file.digest, body[broken:], None)
            elif fault.kind == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

    def stall(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.expect_client()
            time.sleep(0.02)

    def expect_client(self) -> None:
        """Check that the client is connected, since bytes written to a closed connection would count as sent.

        Raises:
            ConnectionError: it has disconnected.
        """
        with suppress(BlockingIOError):
            # by the socket itself: one with TLS takes no flags
            if not socket.socket.recv(self.connection, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                raise ConnectionAbortedError

    def count(self, digest: str, more: int) -> None:
        with self.hub.lock:
            self.hub.sent[digest] += more

    def send_body(self, digest: str, body: memoryview, until: int | None) -> None:
        left = body[:until]
        while left:
            piece = left[:PIECE]
            if self.held:
                piece = piece[: self.hub.draw(len(piece), self.expect_client)]
            self.hub.pay(len(piece))
            self.expect_client()
            self.count(digest, len(piece))  # before sending: a client that has everything may check immediately
            try:
                self.connection.sendall(piece)
            except OSError:
                self.count(digest, -len(piece))
                raise
            left = left[len(piece) :]


class _Hub(_Handler):
    """Listings, and where each file is."""

    def do_GET(self) -> None:
        hub = self.hub
        with hub.lock:
            hub.asked.append((self.command, self.path, self.headers.get("Authorization")))
            fault = hub.api_faults.popleft() if hub.api_faults else 0
        if isinstance(fault, tuple):
            return self.answer(fault[0], b"{}", X_Error_Message=fault[1])
        if fault:
            return self.answer(fault, b"{}", Retry_After="0")
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        if parts == ["api", "models"]:
            words = parse_qs(url.query).get("search", [""])[0].lower()
            return self.tell([{"id": name, "modelId": name} for name in sorted(hub.repos) if words in name.lower()])
        if parts == ["api", "whoami-v2"]:
            account = hub.accounts.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
            return self.tell({"name": account, "type": "user"}) if account else self.answer(401, b'{"error":"Invalid token"}')
        listing = parts[:2] == ["api", "models"]
        place = parts[2:] if listing else parts
        name, rest = "/".join(place[:2]), place[2:]
        if name in hub.renamed:
            there = self.path.replace(name, hub.renamed[name], 1)
            return self.answer(307, Location=there)
        repo = hub.repos.get(name)
        bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if repo is None or (repo.private and bearer not in repo.admitted):
            return self.answer(404 if bearer else 401, b'{"error":"Repository not found"}', X_Error_Code="RepoNotFound")
        if listing:
            return self.listing(name, repo, rest)
        if rest[:1] == ["resolve"] and len(rest) > 2:
            return self.resolve(repo, rest[1], "/".join(rest[2:]), bearer)
        return self.answer(404)

    def listing(self, name: str, repo: Repo, rest: list[str]) -> None:
        commit = repo.resolve(rest[1] if len(rest) > 1 else "main")
        if commit is None:
            return self.answer(404, b'{"error":"Invalid rev id"}', X_Error_Code="RevisionNotFound")
        files = repo.commits[commit]
        if rest[:1] == ["tree"]:
            return self.tell(
                [
                    {
                        "type": "file",
                        "path": path,
                        "size": len(file.data),
                        "oid": file.blob_id,
                        **({"lfs": {"oid": file.sha256, "size": len(file.data), "pointerSize": 130}} if file.lfs else {}),
                    }
                    for path, file in files.items()
                ]
            )
        siblings = [
            {
                "rfilename": path,
                "size": len(file.data),
                "blobId": file.blob_id,
                **({"lfs": {"sha256": file.sha256, "size": len(file.data), "pointerSize": 130}} if file.lfs else {}),
            }
            for path, file in files.items()
        ]
        gated = "manual" if repo.gated else False
        self.tell({"id": name, "modelId": name, "sha": commit, "gated": gated, "tags": list(repo.tags), "siblings": siblings})

    def resolve(self, repo: Repo, revision: str, path: str, bearer: str) -> None:
        if repo.gated and bearer not in repo.admitted:
            return self.answer(403 if bearer else 401, X_Error_Code="GatedRepo", X_Error_Message="Access to it is restricted.")
        commit = repo.resolve(revision)
        if commit is None:
            return self.answer(404, X_Error_Code="RevisionNotFound")
        file = repo.commits[commit].get(path)
        if file is None:
            return self.answer(404, X_Error_Code="EntryNotFound")
        if file.lfs:
            return self.answer(
                302,
                Location=f"{self.hub.content_url}/{file.digest}?signature=1",
                X_Linked_Etag=f'"{file.sha256}"',
                X_Linked_Size=str(len(file.data)),
                X_Repo_Commit=commit,
            )
        return self.serve(file, X_Repo_Commit=commit)


class _Content(_Handler):
    """The bytes of LFS files."""

    held = True

    def do_GET(self) -> None:
        hub = self.hub
        with hub.lock:
            hub.asked.append((self.command, self.path, self.headers.get("Authorization")))
            hub.content_requests += 1
            number = hub.content_requests
            fault = hub.faults.popleft() if hub.faults else None
        with hub.turn:
            if hub.on_content:
                hub.on_content(number)
        file = hub.file(urlsplit(self.path).path.strip("/"))
        if file is None:
            return self.answer(404)
        if fault and fault.kind == "status":
            return self.answer(fault.code, b"try later", Retry_After="0")
        if fault and fault.kind == "expired":
            return self.answer(403, b"Request has expired")
        return self.serve(file, fault)
