"""Host, Origin, and API key checks."""

from collections.abc import Iterator

import pytest

from mlx_engine.api_server.guard import Guard, is_loopback
from mlx_engine.api_server.problems import ApiError
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine


def refusal(
    host: str = "localhost",
    listens: str = "127.0.0.1",
    key: str | None = None,
    path: str = "/v1/models",
    method: str = "GET",
    **headers: str,
) -> int:
    """Return the status of a refusal, or 0."""
    given = [(b"host", host.encode())] + [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    try:
        Guard(listens, key).check({"type": "http", "method": method, "scheme": "http", "path": path, "headers": given})
    except ApiError as error:
        return error.status
    return 0


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8484", "[::1]:8484", "127.1.2.3", "localhost."]
)
def test_names_of_this_computer_are_allowed(host: str) -> None:
    assert refusal(host) == 0


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1@evil.example", ""),
        *("192.168.1.2", "user@localhost", "localhost/evil", "localhost:99999", "localhost:x", "[::1", "0x7f000001", "local host"),
    ],
)
def test_other_hosts_are_refused_on_loopback(host: str) -> None:
    assert refusal(host) == 403


def test_a_server_for_the_network_allows_addresses_and_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "Studio.local")
    for host in ("192.168.1.2:8484", "[fe80::1]", "localhost", "studio", "studio.local:80"):
        assert refusal(host, listens="0.0.0.0") == 0
    for host in ("evil.example", "studio.evil.example"):
        assert refusal(host, listens="0.0.0.0") == 403
    assert refusal("mac.example", listens="mac.example") == 0


def test_only_one_host_header_is_allowed() -> None:
    for hosts in ([], [b"localhost", b"localhost"]):
        with pytest.raises(ApiError):
            Guard("127.0.0.1", None).check(
                {"type": "http", "scheme": "http", "path": "/", "headers": [(b"host", host) for host in hosts]}
            )


def test_large_headers_are_refused() -> None:
    assert refusal(x="y" * 32_000) == 0
    assert refusal(x="y" * 33_000) == 431


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://localhost:3000", "https://localhost", "file://"])
def test_web_pages_of_other_origins_are_refused(origin: str) -> None:
    assert refusal("localhost", origin=origin) == 403
    assert refusal("localhost", path="/health", origin=origin) == 403


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 0), ("none", 0)])
def test_a_page_that_hides_its_origin_cannot_post(site: str, status: int) -> None:
    assert refusal(method="POST", path="/v1/chat/completions", sec_fetch_site=site) == status
    assert refusal(sec_fetch_site=site) == 0  # a link to the server
    assert refusal(method="POST", origin="http://localhost", sec_fetch_site=site) == 0


def test_the_servers_own_origin_is_allowed() -> None:
    assert refusal("localhost:8484", origin="http://LOCALHOST:8484") == 0


@pytest.mark.parametrize(
    "headers", [{"authorization": "Bearer secret-key"}, {"authorization": "bearer  secret-key"}, {"x_api_key": "secret-key"}]
)
def test_the_key_is_accepted_in_both_headers(headers: dict[str, str]) -> None:
    assert refusal(key="secret-key", **headers) == 0


@pytest.mark.parametrize(
    "headers",
    [
        *({}, {"authorization": "Bearer secret-kez"}, {"authorization": "secret-key"}, {"authorization": "Basic secret-key"}),
        *({"x_api_key": ""}, {"x_api_key": "Bearer secret-key"}, {"x_api_key": "secret-key2"}, {"x_api_key": "sécret"}),
    ],
)
def test_requests_without_the_key_are_refused(headers: dict[str, str]) -> None:
    assert refusal(key="secret-key", **headers) == 401
    assert refusal(key="secret-key", path="/unknown", **headers) == 401
    assert refusal(key="secret-key", path="/health", **headers) == 0


def test_loopback_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "mac.local", "")))


def test_a_server_with_a_key_asks_for_it_and_allows_no_other_origin() -> None:
    with serving(ScriptedEngine, key="secret-key") as server:
        assert server.client.get("/v1/models").status_code == 200
        for headers in ({"authorization": ""}, {"authorization": "Bearer wrong-key"}):
            refused = server.client.get("/v1/models", headers=headers)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
            assert refused.json()["error"]["code"] == "invalid_api_key"
            assert server.client.get("/health", headers=headers).status_code == 200
        for response in (
            server.client.get("/v1/models", headers={"origin": "http://evil.example"}),
            server.client.options("/v1/chat/completions", headers={"origin": "http://evil.example"}),
            server.client.get("/health"),
        ):
            assert not [name for name in response.headers if name.startswith("access-control")]


def test_every_endpoint_but_health_needs_the_key() -> None:
    with serving(ScriptedEngine, key="secret-key") as server:
        paths: dict[str, dict[str, object]] = server.client.get("/openapi.json").json()["paths"]
        endpoints = [(method, path) for path, methods in paths.items() for method in methods]
        refused = {
            (method, path)
            for method, path in endpoints
            if server.client.request(method, path, headers={"authorization": ""}).status_code == 401
        }
        assert len(endpoints) > 9 and set(endpoints) - refused == {("get", "/health")}


def test_a_rebound_name_reaches_nothing(server: Serving) -> None:
    assert server.client.get("/health", headers={"host": "evil.example"}).status_code == 403
    before = len(server.engine.runs)
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    assert server.client.post("/v1/chat/completions", json=body, headers={"host": "evil.example"}).status_code == 403
    assert len(server.engine.runs) == before


PAGE = "http://localhost:3000"
PREFLIGHT = {
    "origin": PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, x-stainless-os",
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(ScriptedEngine, key="secret-key", origins=[PAGE, "https://chat.example"]) as running:
        yield running


class TestAllowedOrigins:
    def test_a_preflight_of_an_allowed_origin_needs_no_key(self, shared: Serving) -> None:
        answered = shared.client.options("/v1/chat/completions", headers={**PREFLIGHT, "authorization": ""})
        assert answered.status_code == 204 and answered.text == ""
        assert answered.headers["access-control-allow-origin"] == PAGE
        assert answered.headers["access-control-allow-methods"] == "GET, POST"
        assert answered.headers["access-control-allow-headers"] == "authorization, x-stainless-os"
        assert answered.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in answered.headers

    def test_a_page_of_an_allowed_origin_can_read_replies_and_errors(self, shared: Serving) -> None:
        for key, status in (("Bearer secret-key", 200), ("Bearer wrong-key", 401)):
            answered = shared.client.get("/v1/models", headers={"origin": PAGE, "authorization": key})
            assert (answered.status_code, answered.headers["access-control-allow-origin"]) == (status, PAGE)
            assert "*" not in answered.headers.values()

    @pytest.mark.parametrize(
        "origin", ["http://localhost:3001", "https://localhost:3000", "http://localhost:3000/", "http://localhost", "*", "null", ""]
    )
    def test_origins_are_matched_exactly(self, shared: Serving, origin: str) -> None:
        for answered in (
            shared.client.options("/v1/models", headers={**PREFLIGHT, "origin": origin}),
            shared.client.get("/v1/models", headers={"origin": origin}),
        ):
            assert answered.status_code == 403
            assert not [name for name in answered.headers if name.startswith("access-control")]

    def test_requests_of_programs_are_not_shared(self, shared: Serving) -> None:
        for answered in (shared.client.get("/v1/models"), shared.client.options("/v1/models")):
            assert not [name for name in answered.headers if name.startswith("access-control") or name == "vary"]

    def test_malformed_header_names_are_not_echoed(self, shared: Serving) -> None:
        headers = {**PREFLIGHT, "access-control-request-headers": "a;b=<script>"}
        assert "access-control-allow-headers" not in shared.client.options("/v1/models", headers=headers).headers

    def test_no_origin_is_allowed_by_default(self, server: Serving) -> None:
        assert server.client.options("/v1/models", headers=PREFLIGHT).status_code == 403


def test_every_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, key: bytes) -> bool:
        compared.append((given, key))
        return given == key

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert refusal(key="secret-key", x_api_key="wrong", authorization="Bearer secret-key") == 0
    assert compared == [(b"wrong", b"secret-key"), (b"secret-key", b"secret-key")]
