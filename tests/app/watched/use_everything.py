"""Uses the window, the server, tuning, and all settings, and prints what happened.

python -m tests.app.watched.use_everything FOLDER HOST OFFLINE    HOST: the address of servers that stand for the rest of the world
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from huggingface_hub import set_client_factory
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.application import Slipstream
from app.session.custom_pairs import check_pair
from app.session.updates import Release, Updates
from app.system.data_paths import DataPaths
from app.views.settings.settings_dialog import SettingsDialog, pane_names
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.models.downloads.hub import save_mirror
from mlx_engine.models.library.pair import Pair
from mlx_engine.network import hub_session, offline
from mlx_engine.remote.trial import try_endpoint
from tests.hub.repos import drafter_files, target_files
from tests.hub.server import ServedHub
from tests.mlx_engine.mcp.web_servers import WebTools, serving
from tests.mlx_engine.tuning.test_tune import copied

PATIENCE_MS = 600_000  # for busy machines
TARGET = Pair("owner/target", "owner/drafter")
_SET_FLAGS, _SET_ADDRESS, _SET_MASK, _UP = 0x8914, 0x8916, 0x891C, 0x1  # of Linux


def add_address(host: str) -> None:
    """Turn on the loopback interface of a new network namespace, and give it another address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(host))
        fcntl.ioctl(control, _SET_ADDRESS, address)
        fcntl.ioctl(control, _SET_MASK, struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton("255.255.255.255")))


class Answers(BaseHTTPRequestHandler):
    """A release page, and an endpoint with one model."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        models = {"data": [{"id": "model", "max_model_len": 4096}]}
        body = json.dumps(models | {"tag_name": "v9.0", "html_url": "https://example.org/9"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""


def until(condition: Callable[[], Any], what: str) -> None:
    loop, timer = QEventLoop(), QTimer(interval=20)
    timer.timeout.connect(lambda: condition() and loop.quit())
    limit = QTimer(interval=PATIENCE_MS, singleShot=True)
    limit.timeout.connect(lambda: sys.exit(f"waited in vain for {what}"))
    timer.start()
    limit.start()
    if not condition():
        loop.exec()


def unwatched(code: str) -> None:
    """Run Python as another program, whose connections are its own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-S", "-c", code], env=environment, check=True)


def use_window(slipstream: Slipstream, steps: list[str]) -> None:
    services = slipstream.services
    slipstream.start()
    until(lambda: services.loader.pair is not None and not services.loader.running, "the demo pair")
    services.message.replace("Write the 7 times table.")
    services.message.send()
    until(lambda: services.session.chat.turns and not services.activity.busy, "a reply")
    steps.append("reply")
    services.preferences.server_port = 0
    services.server.set_on(True)
    until(lambda: services.server.url, "the local server")
    unwatched(f"from urllib.request import urlopen; urlopen('{services.server.url}/health').read()")
    steps.append("server")
    for pane in pane_names():
        slipstream.window.dialogs.show_settings(pane)
        dialog = slipstream.window.dialogs.find(SettingsDialog)
        assert dialog is not None
        dialog.grab()
    steps.append("settings")
    slipstream.window.dialogs.show_models()
    until(lambda: services.picker.rows.pairs, "the list of models")


def use_network(slipstream: Slipstream, host: str, port: int, tools: str, steps: list[str]) -> None:
    services, said = slipstream.services, list[str]()
    updates = Updates(Release("1.0", f"http://{host}:{port}/latest"), services.preferences, services)
    updates.notified.connect(said.append)
    updates.check()
    until(lambda: said, "the update check")
    steps.append(f"update: {said[0]}")
    for name, work in (
        ("hub", lambda: check_pair("owner/target", "owner/drafter")),
        ("endpoint", lambda: try_endpoint(Endpoint(f"http://{host}:{port}"))),
    ):
        found = list[str]()
        services.picker.background.run(work, lambda _, found=found: found.append("done"), found.append)
        until(lambda found=found: found, name)
        steps.append(f"{name}: {found[0]}")
    downloads = services.picker.downloads
    downloads.add(TARGET)
    until(lambda: TARGET not in downloads.pairs or downloads.pairs[TARGET].state == "failed", "the download")
    steps.append(f"download: {downloads.pairs[TARGET].state if TARGET in downloads.pairs else 'done'}")
    services.tools.put(ServerConfig("web", url=tools))
    services.tools.start(["web"])
    until(lambda: services.tools.status["web"].state in ("ready", "failed"), "the tool server")
    steps.append(f"tools: {services.tools.status['web'].state}")


def use_terminal(folder: Path, host: str, port: int, steps: list[str]) -> None:
    made, prompts = copied("e2e_qwen3", folder / "pair"), folder / "prompts.txt"
    prompts.write_text("\n".join(f"t{number + 1} t7" for number in range(12)))
    pair = ["--target", f"{made}/target", "--drafter", f"{made}/drafter"]
    tuning = ["--prompts", str(prompts), "--general", str(prompts), "--max-tokens", "8", "--epochs", "1"]
    for name, command in {
        "tune": ["tune", *pair, *tuning],
        "bench": ["bench", *pair, "--runs", "1", "--limit", "1", "--max-tokens", "8", "--widths", "none"],
        "remote": ["generate", "Hi", "--remote", f"http://{host}:{port}"],
        "search": ["models", "search", "--hub", "target"],
    }.items():
        done = subprocess.run([sys.executable, "-m", "mlx_engine", *command], capture_output=True, text=True)
        steps.append(f"{name}: {done.returncode} {done.stderr.strip().splitlines()[-1:]}")


def counters() -> dict[str, int]:
    """Return what the kernel has counted in this network namespace, on Linux."""
    file = Path("/proc/net/snmp")
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    named = zip(lines[::2], lines[1::2], strict=True)
    found = {f"{names[0]}{name}": int(value) for names, values in named for name, value in zip(names[1:], values[1:], strict=True)}
    return {name: found.get(name, 0) for name in ("Ip:OutNoRoutes", "Tcp:ActiveOpens", "Udp:OutDatagrams")}


def main(folder: Path, host: str, is_offline: bool) -> None:
    if host != "127.0.0.1":
        add_address(host)
    world = ThreadingHTTPServer((host, 0), Answers)
    world.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=world.serve_forever, daemon=True).start()
    web = WebTools()
    steps: list[str] = []
    with ServedHub(host=host) as hub, serving(web.listener, web.app):
        hub.repo("owner/target", target_files(300_000))
        hub.repo("owner/drafter", drafter_files(100_000))
        before = counters()  # binding a server looks up its name
        set_client_factory(hub_session.hub_client)  # the hub's own answers need no sockets
        save_mirror(hub.url)
        offline.set_offline(is_offline)
        application = QApplication([])
        application.setQuitOnLastWindowClosed(False)
        slipstream = Slipstream(application, DataPaths(folder, folder, folder))
        with suppress(UserError):
            use_window(slipstream, steps)
            use_network(slipstream, host, world.server_port, web.url, steps)
            use_terminal(folder, host, world.server_port, steps)
        slipstream.ended.connect(application.quit)
        QTimer.singleShot(0, slipstream.window.quit)
        application.exec()
        outside = len(world.asked) + len(hub.asked) + hub.content_requests  # type: ignore[attr-defined]
    counted = {name: value - before[name] for name, value in counters().items()}
    print(json.dumps({"steps": steps, "outside": outside, "counters": counted if host != "127.0.0.1" else {}}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1")
