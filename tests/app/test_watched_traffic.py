"""Every connection of a whole session is in the list, and none is made while Offline is on.

Each process is watched by a hook that sees every socket, whatever opens it. In a network namespace of its own, the kernel's
counters also see what is not Python.
"""

import ipaddress
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.network import connection_log, offline
from mlx_engine.network.connection_log import ConnectionRecord

ROOT = Path(__file__).parents[2]
OUTSIDE = "10.99.0.1"  # an address in a private network, which is not this computer's to the app


def has_namespaces() -> bool:
    return shutil.which("unshare") is not None and subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0


def watched(folder: Path, is_offline: bool) -> tuple[dict[str, Any], Counter[tuple[str, int]], set[str], list[ConnectionRecord]]:
    """Run the program; return what it printed, the connections and lookups that were seen, and the list."""
    host, isolated = (OUTSIDE, ["unshare", "-rn"]) if has_namespaces() else ("127.0.0.1", [])
    places = {name: str(folder / name) for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_HUB_CACHE")}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HF_")},
        **places,
        "HOME": str(folder),
        "WATCHED_FILE": str(folder / "watched"),
        "PYTHONPATH": f"{ROOT / 'tests/app/watched'}{os.pathsep}{ROOT}",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    command = [*isolated, sys.executable, "-m", "tests.app.watched.use_everything", str(folder), host, str(int(is_offline))]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = [line.split(" ") for line in (folder / "watched").read_text().splitlines()]
    connects = Counter((host, int(port)) for kind, host, port in seen if kind == "connect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", places["XDG_DATA_HOME"])
        records = connection_log.read()
    lookups = {host for kind, host, _ in seen if kind == "lookup" and not is_address(host)}
    return json.loads(done.stdout.splitlines()[-1]), connects, lookups, records


def is_address(host: str) -> bool:
    """Return whether a host is an address, not a name that would be looked up elsewhere."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def listed(records: list[ConnectionRecord]) -> Counter[tuple[str, int]]:
    """Return the connections in the list that were made from here."""
    made = [record for record in records if record.feature != "server" and record.outcome != "refused"]
    return Counter((record.host, record.port) for record in made)


@pytest.mark.long
def test_every_connection_that_is_seen_is_listed(tmp_path: Path) -> None:
    said, connects, _, records = watched(tmp_path, is_offline=False)
    assert connects == listed(records), said
    assert {record.feature for record in records} == {"search", "hub", "download", "update", "endpoint", "tool", "server"}, said
    assert {"reply", "server", "settings"} <= {*said["steps"]} and any(step.startswith("tune: 0 ") for step in said["steps"]), said
    assert all(record.sent and record.received for record in records if record.outcome == "closed"), said
    if said["counters"]:
        # the program that asked the local server makes one more
        assert said["counters"] == {"Ip:OutNoRoutes": 0, "Tcp:ActiveOpens": connects.total() + 1, "Udp:OutDatagrams": 0}, said


@pytest.mark.long
def test_nothing_leaves_this_computer_while_offline_is_on(tmp_path: Path) -> None:
    if not has_namespaces():
        # macOS has none, and some containers forbid them. On the machine's own network, the addresses used here would be real ones
        pytest.skip("this system can't make network namespaces, and an address of another computer is needed")
    said, connects, lookups, records = watched(tmp_path, is_offline=True)
    assert said["outside"] == 0 and any(step.startswith("tune: 0 ") for step in said["steps"]), said
    assert connects == listed(records) and all(map(offline.is_this_computer, {host for host, _ in connects} | lookups)), said
    counters = {"Ip:OutNoRoutes": 0, "Tcp:ActiveOpens": connects.total() + 1, "Udp:OutDatagrams": 0}
    assert said["counters"] == counters, said
    refused = {record.feature for record in records if record.outcome == "refused"}
    assert refused == {"search", "hub", "download", "update", "endpoint"}, said
