"""Answers of a hostile hub: endless, huge, compressed, redirected, or with waits that no client should keep."""

import gzip
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache

import httpx2
import pytest
from huggingface_hub import constants
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads import hub as hub_module
from mlx_engine.models.downloads.hub import Hub, Unreachable, busy, retry_after
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.repo import MOST_FILES, is_wanted
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import LocalHub, answer
from tests.hub.repos import target_files
from tests.mlx_engine.models.downloads import download, expect_whole, fetch

TARGET = Pair("owner/target")
Body = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture
def hub(local_hub: LocalHub) -> LocalHub:
    local_hub.repo("owner/target", target_files(100_000))
    return local_hub


def endless(request: httpx2.Request, status: int = 200) -> httpx2.Response:
    return answer(status, iter(lambda: b" " * 65536, b""), Content_Type="application/json")


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * 200_000_000, 1)


def zipped(request: httpx2.Request) -> httpx2.Response:
    return answer(200, iter([bomb()]), Content_Encoding="gzip", Content_Type="application/json")


class TestRetryAfter:
    @pytest.mark.parametrize(
        "header", ["nan", "-nan", "inf", "-inf", "infinity", "-1", "1e300", "1_0", "٣", " 5", "5 s", "", "soon", "\0"]
    )
    def test_invalid_values_are_ignored(self, header: str) -> None:
        assert retry_after(header) is None

    @pytest.mark.parametrize(("header", "seconds"), [("0", 0.0), ("7", 7.0), ("0.5", 0.5), ("301", 300.0), ("9" * 9, 300.0)])
    def test_seconds_are_limited(self, header: str, seconds: float) -> None:
        assert retry_after(header) == seconds

    def test_dates_are_limited(self) -> None:
        now = datetime.now(UTC)
        assert retry_after(format_datetime(now - timedelta(days=9), usegmt=True)) == 0.0
        assert retry_after(format_datetime(now + timedelta(days=9), usegmt=True)) == 300.0
        assert retry_after("Fri, 31 Dec 9999 23:59:59 -2359") in (None, 300.0)
        assert retry_after("Wed, 21 Oct 2015 07:28:00 -0000") == 0.0

    @given(st.one_of(st.text(), st.floats().map(str), st.integers().map(str)))
    def test_any_value_is_none_or_within_the_limits(self, header: str) -> None:
        seconds = retry_after(header)
        assert seconds is None or 0 <= seconds <= 300

    def test_a_hub_that_asks_for_no_wait_is_not_asked_in_a_hot_loop(self, hub: LocalHub, cache: HubCache) -> None:
        waits: list[float] = []

        class Waits(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                waits.append(timeout or 0.0)
                return super().wait(timeout)

        hub.api_faults.extend([503] * 4)
        assert download(hub, cache, TARGET, retry=RetryPolicy(first_wait=0.01)).run(Waits()) is not None
        assert len(waits) >= 4 and all(wait > 0 for wait in waits)

    def test_nan_is_not_passed_on(self) -> None:
        error = busy(httpx2.Response(503, headers={"Retry-After": "nan"}))
        assert isinstance(error, Unreachable) and error.after_s is None


class TestSize:
    @pytest.mark.parametrize("body", [endless, zipped], ids=["endless", "gzip bomb"])
    def test_huge_listings_are_refused(self, body: Body, hub: LocalHub) -> None:
        hub.instead["/api/models"] = body
        with pytest.raises(UserError, match="too large"):
            Hub(hub.url).listing("owner/target")
        with pytest.raises(UserError, match="too large"):
            Hub(hub.url).search("target")

    def test_a_listing_with_too_many_files_is_refused_at_once(
        self, hub: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo, unwanted = hub.repos["owner/target"], {f"folder/{n}.json": b"{}" for n in range(MOST_FILES)}
        usual = target_files(100_000)
        wanted = sum(map(is_wanted, usual))
        repo.commit(usual | unwanted | {f"{n}.json": b"{}" for n in range(MOST_FILES - wanted)})
        assert len(Hub(hub.url).listing("owner/target").files) == MOST_FILES
        repo.commit(usual | {f"{n}.json": b"{}" for n in range(20_000)})
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        hub.asked.clear()
        assert main(["models", "pull", "--target", "owner/target", "--drafter", "owner/drafter"]) == 1
        assert "owner/target lists 20,00" in capsys.readouterr().err
        assert len(hub.asked) == 1

    def test_a_checksum_with_two_sizes_is_refused(self, hub: LocalHub) -> None:
        def listing(request: httpx2.Request) -> httpx2.Response:
            value = hub.usual(request).json()
            first, second = [one for one in value["siblings"] if is_wanted(one["rfilename"]) and "lfs" not in one][:2]
            second["blobId"] = first["blobId"]
            return httpx2.Response(200, json=value)

        hub.instead["/api/models"] = listing
        with pytest.raises(UserError, match=r"response for owner/target is invalid .*two sizes"):
            Hub(hub.url).listing("owner/target")

    @pytest.mark.parametrize("body", [endless, zipped], ids=["endless", "gzip bomb"])
    def test_huge_small_files_are_refused(self, body: Body, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = Hub(hub.url)
        listing = asked.listing("owner/target")
        url = f"{hub.url}/huge"
        hub.instead["/huge"] = body
        monkeypatch.setattr(asked, "locate", lambda *_: (url, {}))
        with pytest.raises(UserError, match=r"config\.json in owner/target is too large"):
            asked.read_json(listing, "config.json")

    def test_the_body_of_an_error_is_not_read(self, hub: LocalHub) -> None:
        hub.instead["/api/models"] = lambda request: endless(request, 404)
        with pytest.raises(UserError, match=r"response for owner/target is invalid|Can't find owner"):
            Hub(hub.url).listing("owner/target")

    def test_a_compressed_listing_is_accepted(self, hub: LocalHub) -> None:
        def listing(request: httpx2.Request) -> httpx2.Response:
            return answer(200, iter([gzip.compress(hub.usual(request).content)]), Content_Encoding="gzip")

        expected = Hub(hub.url).listing("owner/target")
        hub.instead["/api/models"] = listing
        assert Hub(hub.url).listing("owner/target") == expected

    def test_an_answer_that_trickles_in_is_given_up(self, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub_module, "_LONGEST_ANSWER", -1.0)
        with pytest.raises(Unreachable):
            Hub(hub.url).listing("owner/target")


class TestRedirects:
    @pytest.mark.parametrize("path", ["/api/models", "/resolve/"])
    @pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.com/x"])
    def test_a_redirect_to_another_protocol_is_named(self, path: str, location: str, hub: LocalHub, cache: HubCache) -> None:
        hub.instead[path] = lambda _: answer(302, Location=location)
        with pytest.raises(UserError, match="redirected a request to an unsafe address") as refused:
            fetch(hub, cache, TARGET)
        assert "HF_ENDPOINT" not in str(refused.value)

    @pytest.mark.parametrize("location", ["http://xn--\u00e9.x/", "http://a/\x01", "http://a:99999999/", "http://[::1"])
    def test_an_address_that_is_no_address_is_refused(self, location: str, hub: LocalHub, cache: HubCache) -> None:
        hub.instead["/resolve/"] = lambda _: answer(302, Location=location)
        with pytest.raises(UserError, match=r"redirected a request|response for owner/target is invalid"):
            fetch(hub, cache, TARGET)
        with pytest.raises(UserError, match="isn't a web address"):
            hub_module.save_mirror(location)

    def test_a_redirect_of_the_content_host_is_named(self, hub: LocalHub, cache: HubCache) -> None:
        hub.instead[hub.content_url] = lambda _: answer(302, Location="file:///etc/passwd")
        with pytest.raises(UserError, match="redirected a request"):
            fetch(hub, cache, TARGET)

    def test_redirects_in_a_circle_are_named(self, hub: LocalHub, cache: HubCache) -> None:
        hub.instead[hub.content_url] = lambda request: answer(302, Location=request.url.raw_path.decode())
        with pytest.raises(UserError, match=r"response for owner/target is invalid \(Exceeded maximum allowed redirects"):
            fetch(hub, cache, TARGET)


@pytest.mark.parametrize("token", ["hf_ä", "hf_x y", "hf\x7f", "hf_" + "x" * 2000])
def test_a_malformed_token_is_named(token: str, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(UserError, match=r"The access token in HF_TOKEN isn't valid\. Correct it or remove it\."):
        Hub(hub.url).listing("owner/target")
    assert not hub.asked


def test_the_client_sends_no_telemetry(hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would also save a list that the hub sends, and fail at every later start if that is malformed."""

    def detect_agent() -> None:
        pytest.fail("the hub's client looks for the agent that runs it")

    monkeypatch.setattr("huggingface_hub.utils._headers.detect_agent", detect_agent)
    fetch(hub, cache, TARGET)
    assert not [path for _, path, _ in hub.asked if "agent" in path]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("config.json", "Config.json"),
        ("strasse.json", "straße.json"),
        ("\u00e9.json", "e\u0301.json"),
        ("\u212b.json", "\u00e5.json"),
    ],
    ids=["case", "sharp s", "composed", "sign"],
)
def test_names_that_are_one_file_on_a_mac_are_refused(first: str, second: str, local_hub: LocalHub, cache: HubCache) -> None:
    local_hub.repo("owner/target", {**target_files(100_000), first: b"{}", second: b'{"other": 1}'})
    with pytest.raises(UserError, match=r"which are the same file on a Mac\. Choose another repo\."):
        fetch(local_hub, cache, TARGET)
    assert not cache.root.exists()


def test_names_that_differ_otherwise_are_accepted(local_hub: LocalHub, cache: HubCache) -> None:
    local_hub.repo("owner/target", {**target_files(100_000), "a.json": b"{}", "ä.json": b"{}", "README.MD": b"", "readme.md": b""})
    made = download(local_hub, cache, TARGET)
    assert made.run(threading.Event()) is not None
    names = {path.name for path in next((cache.folder("owner/target") / "snapshots").iterdir()).iterdir()}
    assert {"a.json", "ä.json"} <= names


def test_a_download_still_works(hub: LocalHub, cache: HubCache) -> None:
    fetch(hub, cache, TARGET)
    expect_whole(hub, cache, TARGET)
