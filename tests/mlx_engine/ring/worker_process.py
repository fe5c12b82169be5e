"""A worker in a process of its own: `python -m tests.mlx_engine.ring.worker_process HOST FOLDER…`. It prints its port and code."""

import json
import os
import sys
import threading
from pathlib import Path

from mlx_engine.ring.pairing import new_identity
from mlx_engine.ring.worker_service import WorkerService

SLOW_S = 120.0  # a busy computer isn't lost

identity = new_identity()
service = WorkerService(identity, sys.argv[1], silent_s=SLOW_S, folders=[Path(folder) for folder in sys.argv[2:]])
print(json.dumps([service.port, identity.code]), flush=True)
threading.Thread(target=service.serve, daemon=True).start()
sys.stdin.read()  # until the test has ended
os._exit(0)
