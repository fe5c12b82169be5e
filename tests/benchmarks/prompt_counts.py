"""Compare the context meter with the prompts of many generated chats."""

import argparse
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from app.application import EngineSwitch
from app.session.services import Services
from app.system.data_paths import DataPaths
from mlx_engine.engine.host import EngineHost
from tests.app.conftest import Look, Session
from tests.app.prompting_engine import PromptingEngine
from tests.app.test_prompt_counts import LIMIT, check_chat, offered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chats", type=int, nargs="?", default=10_000, help="number of chats (default: 10,000)")
    chats = parser.parse_args().chats
    QApplication([])
    engine, outcomes, started = PromptingEngine(LIMIT), Counter[str](), time.monotonic()
    with TemporaryDirectory() as folder, patch("app.session.context_meter.COUNT_MS", 1), patch("app.session.qt_inbox.BATCH_MS", 1):
        paths = DataPaths(Path(folder), Path(folder), None, True, False)
        app = Session(Services(EngineSwitch(EngineHost(lambda: engine)), paths, Look()), engine)
        app.load()

        @settings(max_examples=chats, suppress_health_check=list(HealthCheck), deadline=None, database=None)
        @given(st.data())
        def check(data: st.DataObject) -> None:
            outcomes.update(check_chat(app, engine, data))
            outcomes["chats"] += 1
            if outcomes["chats"] % 500 == 0:
                print(f"{time.monotonic() - started:.0f} s: {dict(outcomes)}", flush=True)

        with patch.object(app.tools, "offered", offered):
            check()
        app.services.close()
        app.wait_for_end()
    print(f"{time.monotonic() - started:.0f} s: {dict(outcomes)}")


if __name__ == "__main__":
    main()
