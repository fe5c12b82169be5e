"""`slipstream serve`: serve the loaded pair over HTTP to other programs."""

import argparse
import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import NoReturn

from mlx_engine.api_server.api_key import stored_key
from mlx_engine.api_server.app import Api
from mlx_engine.api_server.guard import Guard
from mlx_engine.api_server.listener import Listener
from mlx_engine.api_server.running import announced
from mlx_engine.api_server.served_models import ServedModels, model_id
from mlx_engine.cli.console import flush, note, print_json, say, show_log
from mlx_engine.cli.session import folders, is_auto, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.models.library.installed import InstalledPair
from mlx_engine.network import traffic

_ENDING_S = 1.5  # seconds in which replies in progress are ended


def run(args: argparse.Namespace, client: EngineClient) -> int:
    listener = Listener(args.host, args.port)
    key: str | None = None
    if args.key is None:
        key, kept = stored_key()
        if not kept:
            note("No keychain is available, so the API key changes at every start. Set SLIPSTREAM_KEY to choose one.")
    elif args.key != "none":
        key = args.key
    info = open_pair(client, args)
    own = InstalledPair(info.name, *folders(args), auto=is_auto(args))
    models = ServedModels(client, info, args.load_by_name, own, args.drafter_bits)
    api = Api(models, Guard(args.host, key, frozenset(args.allow_origin)), args.log_requests)
    if args.log_requests or not args.json:
        show_log("mlx_engine.api_server")

    def ready() -> None:
        if args.json:
            print_json({"url": listener.url, "key": key, "model": model_id(info)})
        else:
            say(
                f"Serving {model_id(info)} at {listener.url}/v1",
                f"API key: {key}" if key else "No API key is needed.",
                "Stop with Ctrl-C.",
            )
        flush()

    with announced(listener.url) if args.port else nullcontext():  # one on a free port is for the program that started it
        status = asyncio.run(_serve(listener, api, ready))
    flush()
    _end_now(status)


def _end_now(status: int) -> NoReturn:
    """End immediately: the engine has nothing to save.

    Its current pass could take seconds.
    """
    traffic.close()
    os._exit(status)


async def _serve(listener: Listener, api: Api, ready: Callable[[], None]) -> int:
    stop, status = asyncio.Event(), 0

    def end(number: int) -> None:
        nonlocal status
        status = 130 if number == signal.SIGINT else 0
        timer = threading.Timer(_ENDING_S, _end_now, (status,))  # a load that was requested by name may take longer to end
        timer.daemon = True
        timer.start()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    await listener.serve(api, stop, ready)
    return status
