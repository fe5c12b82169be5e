"""`slipstream launch`: start a coding agent with the running server or its own."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import FrameType

import httpx2

from mlx_engine.api_server.api_key import stored_key
from mlx_engine.api_server.running import running_server
from mlx_engine.cli.agents import AGENTS, FOLDER, AgentServer, shell
from mlx_engine.cli.console import note, progress, say
from mlx_engine.cli.values import KEY_VARIABLE
from mlx_engine.contract.errors import UserError
from mlx_engine.network import traffic

_LEAST_CONTEXT = 8192  # tokens; descriptions of tools take most of them
_ENDING = (signal.SIGTERM, signal.SIGHUP)  # SIGHUP: the terminal was closed


def run(args: argparse.Namespace) -> int:
    agent, url = AGENTS[args.agent], None if args.target else running_server()
    if not args.print and not shutil.which(args.agent):
        raise UserError(
            "agent_missing", "{title} isn't installed. Run “{install}”, then try again.", title=agent.title, install=agent.install
        )
    server = _asked(url, args.key) if url else None
    if args.print:
        if server is None:
            raise UserError("no_server_running", "No server is running. Start one with “slipstream serve”, then try again.")
        say(*shell(args.agent, server).splitlines())
        return 0
    with _own_folder(args.agent) as folder:
        if server is not None:
            return _start(args.agent, args.agent_arguments, server, folder)
        with _handling(_ENDING, _end), _own_server(args, folder) as server:  # so that the server always ends
            return _start(args.agent, args.agent_arguments, server, folder)


@contextmanager
def _own_folder(name: str) -> Iterator[Path]:
    """Create a temporary folder, with the same name each time unless it's in use.

    Agents mention the folder in their system prompts, which otherwise would have to be read again.
    """
    for number in count(1):
        folder = Path(tempfile.gettempdir()) / f"slipstream-{name}-{number}"
        with suppress(FileExistsError):
            folder.mkdir(0o700)
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _asked(url: str, key: str | None) -> AgentServer | None:
    """Return the running server's key and model, or None if it doesn't answer.

    Raises:
        UserError: the server uses a different key, has no model, or its model's context is too short.
    """
    with traffic.client("server", base_url=url, trust_env=False, timeout=10) as client:
        try:
            found = client.get("/v1/models", headers={"authorization": f"Bearer {key}"} if key else {})
            if found.status_code == 401 and key is None:
                key = stored_key()[0]
                found = client.get("/v1/models", headers={"authorization": f"Bearer {key}"})
        except httpx2.HTTPError:
            return None
    if found.status_code == 401:
        raise UserError("server_key", "The server at {url} uses a different API key. Pass it with --key.", url=url)
    model = next((each for each in found.json().get("data", ()) if "context_length" in each), None)
    if model is None:
        raise UserError("server_without_model", "The server at {url} has no loaded model. Load one there, then try again.", url=url)
    if (context := model["context_length"]) < _LEAST_CONTEXT:
        template = (
            "“{model}” has a context of {limit:,} tokens. Agents need at least {least:,}. Choose another model with --target."
        )
        raise UserError("context_too_short", template, model=model["id"], limit=context, least=_LEAST_CONTEXT)
    return AgentServer(url, key or "none", model["id"], context, model.get("vision") is True)


@contextmanager
def _own_server(args: argparse.Namespace, folder: Path) -> Iterator[AgentServer]:
    """Serve a pair on a free port for as long as the agent runs."""
    options = [
        f"--{name.replace('_', '-')}={value}"
        for name in ("target", "drafter", "drafter_bits")
        if (value := getattr(args, name)) is not None
    ]
    command = [sys.executable, "-m", "mlx_engine", "serve", "--json", "--port", "0", *options]
    environment = os.environ | ({KEY_VARIABLE: args.key} if args.key is not None else {})
    log = folder / "slipstream.log"  # the agent has the terminal
    with log.open("w") as errors:
        progress("Loading the models…")
        # In a session of its own, so that Ctrl-C reaches only the agent
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True, env=environment
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        progress("")
        try:
            ready = json.loads(line)
            server = _asked(ready["url"], ready["key"])
        except (ValueError, KeyError):
            server = None
        if server is None:
            note(*log.read_text(errors="replace").splitlines())
            raise UserError("server_ended", "The server didn't start.")
        yield server
    finally:
        progress("")
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _start(name: str, arguments: list[str], server: AgentServer, folder: Path) -> int:
    """Run an agent in this terminal, and return its exit code."""
    agent = AGENTS[name]
    for file, text in agent.files.items():
        (folder / file).write_text(server.fill_file(text), encoding="utf-8")

    def filled(text: str) -> str:
        return server.fill(text).replace(FOLDER, str(folder))

    environment = {**os.environ, **{variable: filled(value) for variable, value in agent.environment.items()}}
    command = [shutil.which(name) or name, *map(filled, agent.arguments), *arguments]
    process: subprocess.Popen[bytes] | None = None
    ends = False

    def leave_to_agent(number: int, frame: FrameType | None) -> None:
        """Leave Ctrl-C, which the terminal also sends to the agent, to the agent."""
        nonlocal ends
        ends = ends or number in _ENDING
        if process is not None and number in _ENDING:
            process.terminate()

    with _handling((signal.SIGINT, *_ENDING), leave_to_agent):
        process = subprocess.Popen(command, env=environment)
        if ends:  # a signal arrived before the agent started
            process.terminate()
        status = process.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _handling(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
