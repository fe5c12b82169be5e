"""Stands for the launcher that Briefcase puts into the bundle: `python launcher.py ALERT PACKAGES [ARGUMENT ...]`.

The launcher runs the main module in an interpreter without standard paths. If the module raises anything but an integer SystemExit,
the launcher shows an alert, which waits for a click, and prints nothing. Here the alert's text goes to the file ALERT. The launcher
turns Python's signal handling off, so SIGPIPE and SIGXFSZ have the system's default action.
"""

import runpy
import signal
import site
import sys
import time
import traceback
from pathlib import Path

for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
alert, packages, *arguments = sys.argv[1:]
sys.path[0] = str(Path(__file__).resolve().parents[2])
site.addsitedir(packages)
sys.argv = ["Slipstream", *arguments]
try:
    runpy._run_module_as_main("app", False)  # type: ignore[attr-defined]
except SystemExit as end:
    if end.code is None or isinstance(end.code, int):
        raise
    text = str(end.code)
except BaseException:
    text = traceback.format_exc()
Path(alert).write_text(text, encoding="utf-8")
time.sleep(3600)
