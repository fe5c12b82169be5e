"""`slipstream serve`: its options, its first line, and its end."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from keyring.backends.fail import Keyring as NoKeychain

from mlx_engine.api_server.api_key import new_key, stored_key
from mlx_engine.cli.main import main
from mlx_engine.models.library.pair import demo_pair
from tests.keychain import keychain
from tests.mlx_engine.scripted_engine import ScriptedEngine

SCRIPTED = """
import sys
from mlx_engine.cli.main import main
from tests.mlx_engine.scripted_engine import ScriptedEngine
sys.exit(main(sys.argv[1:], ScriptedEngine))
"""


@contextmanager
def started(
    *options: str, program: Sequence[str] = ("-m", "mlx_engine"), **variables: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Start the command, and yield the process and its first line."""
    command = [sys.executable, *program, "serve", "--json", "--port", "0", *options]
    environment = {**os.environ, **variables, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_the_first_line_has_all_that_a_client_needs_and_sigterm_ends_a_reply() -> None:
    with started("--key", "a-secret-key") as (process, line):
        assert set(line) == {"url", "key", "model"} and line["key"] == "a-secret-key"
        assert line["url"].startswith("http://127.0.0.1:")
        body = {"model": line["model"], "messages": [{"role": "user", "content": "Hi"}], "stream": True, "ignore_eos": True}
        with httpx2.Client(base_url=line["url"], trust_env=False, timeout=60) as client:
            assert client.post("/v1/chat/completions", json=body).status_code == 401
            headers = {"authorization": f"Bearer {line['key']}"}
            with client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
                assert next(response.iter_lines()).startswith("data: ")
                process.send_signal(signal.SIGTERM)
                output, errors = process.communicate(timeout=60)
        assert (process.returncode, output, errors) == (0, "", "")


class TestSigterm:
    @pytest.mark.long
    def test_it_ends_replies_that_read_prompts_or_wait(self) -> None:
        with started("--key", "none") as (process, line), ThreadPoolExecutor() as pool:
            client = httpx2.Client(base_url=line["url"], trust_env=False, timeout=60)
            prompts = [[number] * 2000 for number in range(20)]
            replies = [pool.submit(client.post, "/v1/completions", json={"prompt": prompt}) for prompt in prompts]
            while "slipstream_replies_queued 0" in client.get("/metrics").text:
                pass
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=60) == ("", "")
            assert process.returncode == 0
            found = [reply.result() for reply in replies if not reply.exception()]
            assert {reply.status_code for reply in found} <= {200, 503}

    def test_it_ends_what_does_not_end(self) -> None:
        """A server whose last replies take forever."""
        program = """
import asyncio, sys
from mlx_engine.cli.main import main
from mlx_engine.api_server.listener import Listener
from tests.mlx_engine.scripted_engine import ScriptedEngine

async def serve(self, api, stop, ready):
    ready()
    await asyncio.Event().wait()

Listener.serve = serve
main(["serve", "--json", "--port", "0", "--key", "none"], ScriptedEngine)
"""
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and "url" in json.loads(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0

    @pytest.mark.long
    def test_it_ends_a_load(self, tmp_path: Path) -> None:
        shutil.copytree(demo_pair()[0], tmp_path / ".lmstudio/models/lab/Copy")
        places = {"HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub"), "XDG_DATA_HOME": str(tmp_path / "data")}
        with started("--key", "none", "--load-by-name", **places) as (process, line), ThreadPoolExecutor() as pool:
            client = httpx2.Client(base_url=line["url"], trust_env=False, timeout=60)
            reply = pool.submit(client.post, "/v1/completions", json={"prompt": "Hi", "model": "copy"})
            while client.get("/v1/models").json()["data"][0]["id"] == "demo-pair":
                pass
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            assert process.returncode == 0
            assert reply.exception() or reply.result().status_code in (200, 503)


def test_without_a_key_none_is_needed_and_ctrl_c_ends_it() -> None:
    with started("--key", "none") as (process, line):
        assert line["key"] is None
        assert httpx2.get(f"{line['url']}/v1/models", trust_env=False).json()["data"][0]["id"] == line["model"]
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
        assert (process.returncode, errors) == (130, "")


@pytest.mark.parametrize("options", [(), ("--key", "another-key")])
def test_the_key_can_be_an_environment_variable(options: tuple[str, ...]) -> None:
    with started(*options, program=("-c", SCRIPTED), SLIPSTREAM_KEY="a-secret-key") as (_, line):
        assert line["key"] == (options[1] if options else "a-secret-key")


@pytest.mark.parametrize("key", ["short", "schlüssel"])
def test_a_bad_key_in_the_environment_is_a_usage_error(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLIPSTREAM_KEY", key)
    with pytest.raises(SystemExit) as ended:
        main(["serve"], ScriptedEngine)
    assert ended.value.code == 2
    assert "SLIPSTREAM_KEY" in capsys.readouterr().err.splitlines()[-1]


def test_without_a_keychain_the_key_is_for_this_run() -> None:
    with started(program=("-c", SCRIPTED)) as (process, line):
        assert line["key"].startswith("sk-slipstream-")
        process.send_signal(signal.SIGTERM)
        assert "No keychain" in process.communicate(timeout=60)[1]


def test_the_key_is_generated_once() -> None:
    with keychain():
        key, kept = stored_key()
        assert kept and len(key) > 40
        assert stored_key() == (key, True)


def test_a_new_key_replaces_the_stored_one() -> None:
    with keychain():
        old, _ = stored_key()
        key, kept = new_key()
        assert kept and key != old and stored_key() == (key, True)


def test_a_key_without_a_keychain_lasts_until_the_process_ends() -> None:
    with keychain(NoKeychain()):
        first, second = stored_key(), stored_key()
    assert first == second and not first[1]
    with keychain(NoKeychain()):  # another process
        assert stored_key() != first


@pytest.mark.parametrize(
    "options",
    [
        *(["--key", "short"], ["--key", "with a space"], ["--key", "schlüssel"], ["--host", "0.0.0.0", "--key", "none"]),
        *(
            ["--allow-origin", text]
            for text in ("*", "null", "localhost:3000", "http://a.example/", "http://user@a.example", "http://[")
        ),
        *(["--port", "65536"], ["--port", "-1"], ["--port", "http"], ["--host", "192.168.1.2", "--key", "none"]),
    ],
)
def test_contradicting_options_are_a_usage_error(options: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *options], ScriptedEngine)
    assert ended.value.code == 2


def test_a_port_in_use_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--key", "none", "--port", str(port)], ScriptedEngine) == 1
    assert f"Port {port} is in use" in capsys.readouterr().err


def test_an_unknown_host_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--key", "a-secret-key", "--host", "nowhere.invalid"], ScriptedEngine) == 1
    assert "Can't listen on “nowhere.invalid”" in capsys.readouterr().err
