"""`slipstream cache`: list, clear, or verify the prompts saved on disk."""

import argparse

from mlx_engine.cli.console import print_json, say
from mlx_engine.contract.errors import UserError
from mlx_engine.models.fit import gigabytes
from mlx_engine.prefix.part_store import PrefixStore, default_folder


def run(args: argparse.Namespace) -> int:
    store = PrefixStore(args.folder or default_folder())
    try:
        return {"list": _list, "clear": _clear, "verify": _verify}[args.cache_command](store, args.json)
    finally:
        store.close()


def _list(store: PrefixStore, as_json: bool) -> int:
    use = store.use()
    if as_json:
        pairs = [{"fingerprint": pair, "parts": parts, "bytes": size} for pair, parts, size in use.pairs]
        figures = {"parts": use.parts, "bytes": use.bytes, "quota": use.quota, "saved_tokens": use.saved_tokens}
        print_json({"folder": str(use.folder), **figures, "pairs": pairs})
        return 0
    say(
        f"{use.folder}",
        f"{gigabytes(use.bytes)} of {gigabytes(use.quota)} used (parts: {use.parts:,}, pairs: {len(use.pairs)})",
        f"{use.saved_tokens:,} prompt tokens were read instead of computed",
    )
    return 0


def _clear(store: PrefixStore, as_json: bool) -> int:
    size = store.use().bytes
    if not store.clear():
        template = "Can't delete all saved prompts in {folder}. Check that you can write to this folder, then try again."
        raise UserError("cannot_clear_prompts", template, folder=str(store.folder))
    print_json({"bytes": size, "left": 0}) if as_json else say(f"Deleted {gigabytes(size)} of saved prompts.")
    return 0


def _verify(store: PrefixStore, as_json: bool) -> int:
    good, bad = store.verify()
    print_json({"good": good, "deleted": bad}) if as_json else say(f"Parts intact: {good:,}. Damaged and deleted: {bad:,}.")
    return 0
