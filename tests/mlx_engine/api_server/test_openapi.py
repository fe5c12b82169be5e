"""`GET /openapi.json`, and what a fuzzer makes of it."""

import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from mlx_engine.api_server.chat_completions import ChatFields
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.api_server.test_requests_over_http import HI, PATH
from tests.mlx_engine.scripted_engine import ScriptedEngine


def test_the_document_describes_every_endpoint_and_its_fields(server: Serving) -> None:
    document = server.client.get("/openapi.json").json()
    assert {"/health", "/metrics", "/openapi.json", "/v1/models", PATH, "/v1/messages"} <= set(document["paths"])
    assert document["paths"]["/health"]["get"]["security"] == [] and "security" not in document["paths"][PATH]["post"]
    reference = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"]
    checker = jsonschema.Draft202012Validator({**reference, "components": document["components"]})
    assert checker.is_valid(HI) and not checker.is_valid({**HI, "temperature": -1})
    assert set(document["components"]["schemas"]["ChatFields"]["properties"]) == set(ChatFields.model_fields)


@pytest.mark.long
def test_generated_requests_are_answered_or_refused(tmp_path: Path) -> None:
    with serving(ScriptedEngine, key="secret-key") as server:
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/openapi.json"),
            *("--header", "Authorization: Bearer secret-key", "--max-examples", "40", "--seed", "1", "--continue-on-failure"),
            *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"),
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.chat("Hi")["choices"][0]["message"]["content"] == "Hello there."
