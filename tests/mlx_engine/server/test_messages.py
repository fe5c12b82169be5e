"""Anthropic's dialect, with a scripted engine."""

from typing import Any

import pytest

from mlx_engine.server import anthropic
from mlx_engine.server.problems import ApiError
from tests.mlx_engine.scripted_engine import ScriptedEngine
from tests.mlx_engine.server.serving import Serving, serving

PATH = "/v1/messages"


def refused(response: Any, status: int = 400) -> dict[str, Any]:
    """Check a refusal's shape, and return its error."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"type", "error", "request_id"} and body["type"] == "error"
    assert set(body["error"]) == {"type", "message"} and body["error"]["message"]
    return body["error"]


class TestErrors:
    def test_errors_of_this_dialects_paths_have_its_shape(self, server: Serving) -> None:
        assert refused(server.client.get(PATH), 405)["type"] == "invalid_request_error"
        assert refused(server.client.get(f"{PATH}/batches"), 404)["type"] == "not_found_error"
        assert refused(server.client.get(PATH, headers={"origin": "http://evil.example"}), 403)["type"] == "permission_error"

    def test_a_missing_key_is_an_authentication_error(self) -> None:
        with serving(ScriptedEngine, key="secret") as server:
            refusal = server.client.post(PATH, headers={"authorization": "Bearer wrong"})
            assert refused(refusal, 401)["type"] == "authentication_error"

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            *((400, "invalid_request_error"), (401, "authentication_error"), (403, "permission_error"), (404, "not_found_error")),
            *((413, "request_too_large"), (429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")),
        ],
    )
    def test_each_status_has_anthropics_type(self, status: int, kind: str) -> None:
        assert anthropic.error_body(ApiError(status, "Why."))["error"] == {"type": kind, "message": "Why."}

    def test_claude_code_can_ask_whether_the_server_runs(self, server: Serving) -> None:
        assert server.client.head("/api/hello").status_code == 200
        assert server.client.get("/api/hello").status_code == 200
