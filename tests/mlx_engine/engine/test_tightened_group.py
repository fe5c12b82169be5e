"""The kernel tightens the memory of a process in which four replies run: nothing is killed, and no text is lost."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlx_engine.contract.machine_events import ReliefStep
from tests.mlx_engine.conftest import GOLDEN

ROOT = Path(__file__).parents[3]

# Joins the group, then tightens its limit to a few percent above what the process uses, while four replies run
CHILD = """
import json, os, queue, sys
from pathlib import Path

group, store, target, drafter = map(Path, sys.argv[1:])
version_2 = (group / "memory.max").exists()
LIMIT, OFF = ("memory.max", "max") if version_2 else ("memory.limit_in_bytes", "-1")
(group / "cgroup.procs").write_text(str(os.getpid()))

from mlx_engine.contract.events import Commit
from mlx_engine.contract.requests import GenerationRequest, LoadPair, ReadMemory, SavePrompts
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost
from mlx_engine.engine.relief import Relief
from mlx_engine.hardware import cgroup, sensors

steps, pressures = [], []

class Recorded(Relief):
    def look(self):
        looked = super().look()
        if looked:
            steps.append(int(self.step)); pressures.append(self.pressure)
        return looked

host = EngineHost(relief=Recorded(interval=0.02))
list(to_iter(host, LoadPair(target, drafter)))
list(to_iter(host, SavePrompts(store, 1 << 30)))
prompts = [[(7 * at + 3 * number) % 120 + 3 for at in range(600)] for number in range(4)]
requests = [
    GenerationRequest(prompt_tokens=tuple(prompt), max_tokens=150, ignore_eos=True, chat=str(number), foreground=not number)
    for number, prompt in enumerate(prompts)
]

def written(events):
    return [token for event in events if isinstance(event, Commit) for token in event.tokens]

def own_group():
    return next(each for each in cgroup.memory_groups() if each.folder == group)

wanted = [written(to_iter(host, request)) for request in requests]
events = [queue.SimpleQueue() for _ in requests]
for request, own in zip(requests, events):
    host.submit(request, own.put)
found = [[], [], [], []]
while not written(found[0]):
    found[0].append(events[0].get(timeout=60))
(group / LIMIT).write_text(str(1 << 40))
used = own_group().used
limit = used + used // 33
(group / LIMIT).write_text(str(limit))
steps.clear(), pressures.clear()
while found[0][-1] is not None:  # the reply that the user waits for
    found[0].append(events[0].get(timeout=60))
tight, least = own_group().used, max(steps)
(group / LIMIT).write_text(OFF)
for own, each in zip(events[1:], found[1:]):
    each += iter(lambda: own.get(timeout=60), None)
while next(iter(to_iter(host, ReadMemory()))).step:
    pass  # until the pressure has been low for a few readings
after = [written(to_iter(host, request)) for request in requests]
assert host.wait(60)
print(json.dumps({
    "wanted": wanted, "got": [written(each) for each in found], "after": after, "highest": least, "used": used, "limit": limit,
    "tight": tight, "ends": [getattr(each[-1] if each[-1] is not None else each[-2], "code", "") for each in found],
    "pressures": sorted(set(map(str, pressures))), "failures": (group / "memory.failcnt").read_text() if not version_2 else "",
}))
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A memory group below the one of the tests."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        paths = {line.split(":")[1]: line.split(":", 2)[2].lstrip("/") for line in lines}
        mount = Path("/sys/fs/cgroup")
        own = mount / "memory" / paths["memory"] if "memory" in paths else mount / paths[""]
        made = own / f"slipstream-test-{os.getpid()}"
        made.mkdir()
    except (OSError, KeyError, IndexError):  # a container often gives no right to make groups; test_relief simulates the pressure
        pytest.skip("this computer has no memory groups, or the tests may not make one")
    try:
        if not any((made / name).exists() for name in ("memory.max", "memory.limit_in_bytes")):  # nothing to tighten
            pytest.skip("groups of the tests can't have a memory limit here")
        yield made
    finally:
        made.rmdir()


@pytest.mark.long
def test_replies_survive_a_tightened_group(group: Path, tmp_path: Path) -> None:
    folders = [str(GOLDEN / "e2e_qwen3" / part) for part in ("target", "drafter")]
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(group), str(tmp_path / "prompts"), *folders], cwd=ROOT, capture_output=True, text=True
    )
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    print({name: value for name, value in found.items() if name not in ("wanted", "got", "after")})
    assert "critical" in found["pressures"] and found["highest"] >= ReliefStep.BACKGROUND
    assert found["got"][0] == found["wanted"][0], "the reply that the user waits for has its whole text"
    for got, wanted, end in zip(found["got"], found["wanted"], found["ends"], strict=True):
        assert got == wanted if end == "" else end == "memory_ended_reply" and got == wanted[: len(got)]
    assert found["after"] == found["wanted"], "all is as before once the limit is gone"
