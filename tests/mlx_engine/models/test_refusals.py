"""Refusals of a hub, content host or disk are explained with what to do; nothing is published."""

import errno
import os
import re
import socket
import threading
from typing import Any

import httpx2
import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.partial import PartialFile
from tests.hub.local_hub import Fault, LocalHub
from tests.hub.repos import Repo, StoredFile, drafter_files, target_files
from tests.mlx_engine.models.downloads import download, expect_whole, fetch, leftovers

INVALID = "Invalid credentials in Authorization header"
DISABLED = "Access to this resource is disabled."


@pytest.fixture
def hub(local_hub: LocalHub) -> LocalHub:
    local_hub.repo("owner/target", target_files(300_000))
    local_hub.repo("owner/drafter", drafter_files(100_000))
    return local_hub


def refusal(local: LocalHub, cache: HubCache, **options: Any) -> str:
    """Return the message of a refused download, which succeeds once nothing is refused any more."""
    made = download(local, cache, **options)
    with pytest.raises(UserError) as error:
        made.run(threading.Event())
    assert not list(cache.root.rglob("snapshots/*/*"))
    local.api_faults.clear()
    local.faults.clear()
    fetch(local, cache)
    expect_whole(local, cache)
    return str(error.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            (401, INVALID),
            "The hub rejected your access token. Create a new one at {hub}/settings/tokens, then",
        ),
        (
            (403, "Forbidden"),
            "Your access token isn't allowed to read owner/target. See {hub}/owner/target for the requirements",
        ),
        ((403, DISABLED), "owner/target was disabled on the hub. Choose another pair."),
        (400, "The hub's response for owner/target is invalid"),
    ],
    ids=["an expired token", "a token without the right", "disabled", "nonsense"],
)
def test_refusals_of_the_hub_are_explained(fault: Any, words: str, hub: LocalHub, cache: HubCache) -> None:
    hub.api_faults.extend([fault] * 2)  # the second request has the keychain's token
    assert refusal(hub, cache, token="hf_mine").startswith(words.format(hub=hub.url))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            403,
            # either may be asked for first
            r"^The download server refused model(-00001-of-00001\.safetensors in owner/target|\.safetensors in owner/drafter) "
            r"\(status 403\)\. Downloaded data is kept\. Try again later\.$",
        ),
        (451, r"^The download server refused .* \(status 451\)\. Downloaded data is kept\. Try again later\.$"),
        (416, r"was corrupted in two downloads and has been deleted\. Try again later, or use another mirror\.$"),
    ],
    ids=["links that never work", "permanent", "no such range"],
)
def test_refusals_of_the_content_host_are_explained(code: int, words: str, hub: LocalHub, cache: HubCache) -> None:
    hub.faults.extend([Fault("status", code=code)] * 1000)
    assert re.search(words, refusal(hub, cache))


@pytest.mark.parametrize("endpoint", ["nonsense", "ftp://hub", "http://", "https://hub:port"])
def test_an_invalid_endpoint_is_reported(endpoint: str) -> None:
    with pytest.raises(UserError, match=r"isn't a valid hub address\. Check HF_ENDPOINT \(default: https://huggingface\.co\)\."):
        Hub(endpoint, read_timeout=2.0).listing("owner/target")


def test_a_refusing_proxy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def refuse() -> None:
            connection, _ = proxy.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=refuse, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(UserError, match=r"^The proxy refused the connection to https://hub\.invalid .* Check HTTPS_PROXY"):
            Hub("https://hub.invalid", read_timeout=5.0).listing("owner/target")


def test_a_config_larger_than_listed_is_refused(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = Hub(hub.url).listing("owner/target")
    name = "config.json"
    stored = hub.repos["owner/target"].commits[listing.commit][name]
    long = StoredFile(b" " * 5_000_000, stored.lfs, stored.sha256, stored.blob_id)
    monkeypatch.setattr(Hub, "locate", lambda self, *given: (f"{hub.url}/owner/target/resolve/{listing.commit}/{name}", {}))
    hub.repos["owner/target"].commits[listing.commit][name] = long
    with pytest.raises(UserError, match="is too large"):
        Hub(hub.url).read_json(listing, name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda listing_json: listing_json.pop("sha"), "The hub provides no commit for owner/target"),
        (lambda listing_json: listing_json["siblings"][0].pop("size"), "The hub provides no size for"),
        (lambda listing_json: listing_json["siblings"][0].update(size=10**400), "The hub provides no size for"),
        (
            lambda listing_json: (listing_json["siblings"][0].pop("lfs", 0), listing_json["siblings"][0].pop("blobId")),
            "The hub provides no checksum for",
        ),
        (
            lambda listing_json: listing_json["siblings"].append(dict(listing_json["siblings"][0])),
            "which are the same file on a Mac. Choose another repo.",
        ),
    ],
    ids=["commit", "size", "impossible size", "checksum", "twice"],
)
def test_incomplete_listings_are_refused(change: Any, words: str, hub: LocalHub) -> None:
    def changed(request: httpx2.Request) -> httpx2.Response:
        value = hub.usual(request).json()
        value["siblings"] = [one for one in value["siblings"] if one["rfilename"] == "config.json"]
        change(value)
        return httpx2.Response(200, json=value)

    hub.instead["/api/models"] = changed
    with pytest.raises(UserError, match=re.escape(words)):
        Hub(hub.url).listing("owner/target")


def test_a_repo_that_keeps_changing_is_given_up(hub: LocalHub, cache: HubCache) -> None:
    """Each time, its history is squashed, so that the pinned commit is gone."""
    repo: Repo = hub.repos["owner/target"]
    seeds = iter(range(10, 1000))

    def revise(number: int) -> None:
        repo.commit(target_files(300_000, seed=next(seeds)), forget=True)

    hub.on_content = revise
    with pytest.raises(UserError, match=r"keeps changing on the hub\. Downloaded data is kept\. Try again later\."):
        download(hub, cache).run(threading.Event())
    hub.on_content = None
    fetch(hub, cache)


def test_a_disk_without_large_files_is_reported(hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(self: PartialFile, *given: Any) -> bool:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    with monkeypatch.context() as patched:
        patched.setattr(PartialFile, "write", too_large)
        with pytest.raises(UserError, match=r"doesn't support files this large\. Move the model folder to another disk\."):
            download(hub, cache).run(threading.Event())
    fetch(hub, cache)
    expect_whole(hub, cache)


def test_a_special_file_in_place_of_a_partial_file_is_refused(hub: LocalHub, cache: HubCache) -> None:
    listing = Hub(hub.url).listing("owner/target")
    cache.prepare(listing)
    place = cache.partial(listing, next(file for file in listing.files if file.lfs))
    os.mkfifo(place)
    with pytest.raises(UserError, match=r"isn't a regular file\. Delete it, then try again\."):
        download(hub, cache).run(threading.Event())
    place.unlink()
    fetch(hub, cache)
    assert leftovers(cache) == []
