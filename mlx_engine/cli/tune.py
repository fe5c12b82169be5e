"""`slipstream tune`: tune a drafter, or train a new one."""

import argparse
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import resources
from mlx_engine.cli.console import note, print_json, say
from mlx_engine.cli.prompt_files import Prompts, read_prompts, to_messages
from mlx_engine.cli.session import folders, measure, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Tuned
from mlx_engine.contract.files import data_folder
from mlx_engine.contract.limits import FEWEST_PROMPTS, MOST_PROMPTS
from mlx_engine.contract.requests import Message, Sampling, TuneDrafter
from mlx_engine.formats.pdf_prompts import page_text
from mlx_engine.hardware import blas, open_files
from mlx_engine.media.pdfs import PdfPage
from mlx_engine.models.files.tuning_files import UnfinishedRun, delete_runs, remove_lora


def run(args: argparse.Namespace, client: EngineClient) -> int:
    blas.prepare()
    if args.remove:
        return _remove(args)
    prompts = [*(read_prompts(args.prompts) if args.prompts else ()), *(saved_prompts() if args.chats else ())]
    general = read_prompts(args.general) if args.general else general_prompts(args.target is None)
    if args.new:
        open_files.import_mlx_lm()
        from mlx_engine.tuning import fresh  # imports MLX, before which the BLAS is chosen

        fresh.create(args.new, args.target, args.layers, args.taps, args.block, args.mask_token, args.seed, args.mlp)
        args.drafter = args.new
    prompts = list(dict.fromkeys(prompts))
    most = args.most or (len(prompts) if args.new else MOST_PROMPTS)
    args.tuned = False
    open_pair(client, args)
    found = measure(client, request(args, prompts[-most:], general))
    if not isinstance(found, Tuned):
        note("Stopped. Run the same command to continue.")
        return 130
    print_json(asdict(found)) if args.json else say(*table(found, len(prompts)))
    return 0


def request(args: argparse.Namespace, prompts: Prompts, general: Prompts) -> TuneDrafter:
    """Return the request of a command line."""
    return TuneDrafter(
        tuple(prompts),
        () if args.new else tuple(general),
        whole=bool(args.new),
        epochs=args.epochs or (20.0 if args.new else 8.0),
        max_tokens=args.max_tokens,
        sampling=Sampling(args.temperature),
        thinking=args.thinking,
        seed=args.seed,
    )


def table(found: Tuned, count: int) -> list[str]:
    """Return the table of a result: prompts used, tokens per round, and where."""
    lines = [f"{found.replies:,} of {count:,} prompts used", "", f"{'tokens per round':18}{'before':>8}{'after':>8}"]
    rows = [("your prompts", found.before, found.after), ("general prompts", found.general_before, found.general_after)]
    lines += [f"{name:18}{before:>8.2f}{after:>8.2f}{after / before - 1:>+8.1%}" for name, before, after in rows if before]
    worse = ", or fell by more than 1 % on general ones" if found.general_before else ""
    why_not = f"Not saved, because tokens per round didn't rise on your prompts{worse}."
    return [*lines, f"Saved in {found.file}" if found.kept else why_not]


def saved_prompts(file: Path | None = None) -> Prompts:
    """Return the user's messages in all saved chats, oldest first.

    Only the shown versions of messages count. Chats whose prompts are kept off the disk, and messages after calls of tools, empty
    replies, or images, are left out.

    Args:
        file: the database of the app's chats; None for the usual one.

    Raises:
        UserError: the database can't be read.
    """
    file = file or data_folder() / "chats.db"
    query = (
        "SELECT m.id, m.parent, m.role, m.text, m.details, c.settings FROM message m JOIN chat c ON c.id = m.chat "
        "WHERE c.deleted IS NULL AND m.chosen ORDER BY m.number"
    )
    prompts: Prompts = []
    paths: dict[str, tuple[Message, ...]] = {}
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(query).fetchall()
        for identity, parent, role, text, *values in rows:
            details, settings = map(json.loads, values)
            system = settings.get("system")
            first = (Message("system", system),) if system and isinstance(system, str) else ()
            before = paths.get(parent) if parent else first
            files = details.get("attachments", ())
            parts = [f"--- {file['name']} ---\n{_text(file)}\n--- end of {file['name']} ---" for file in files]
            text = "\n\n".join([*parts, text] if text else parts)
            has_images = any("picture" in each for file in files for each in (file, *file.get("page_list", ())))
            if before is None or not text or settings.get("private") or details.get("calls") or has_images:
                continue
            if before and before[-1].role == role:  # after a prompt without a reply
                continue
            paths[identity] = (*before, Message(role, text))
            if role == "user":
                prompts.append(paths[identity])
        return prompts
    except (sqlite3.Error, ValueError, KeyError, AttributeError, TypeError):
        raise UserError(
            "chats_unreadable", "Can't read the saved chats in “{file}”. Use --prompts instead.", file=str(file)
        ) from None


def _text(file: Mapping[str, Any]) -> str:
    """Return an attached file's text as the app sends it."""
    pages = file.get("page_list")
    if pages is None:
        return str(file["text"]).strip()
    sent = (PdfPage(page["number"], page["text"], why=page["why"]) for page in pages if page["sent"] != "no")
    return "\n\n".join(page_text(page, len(pages), pictured=False) for page in sent)


def chosen_prompts(run: UnfinishedRun | None, saved: Prompts) -> Prompts:
    """Return the saved prompts of the unfinished run, or else the latest ones."""
    saved = list(dict.fromkeys(saved))
    still = set(saved)
    kept = [prompt for prompt in run.prompts if prompt in still] if run else []
    return kept if len(kept) >= FEWEST_PROMPTS else saved[-MOST_PROMPTS:]


def general_prompts(demo: bool) -> Prompts:
    """Return the built-in prompts on which a drafter must stay as fast.

    Args:
        demo: whether for the demo pair.
    """
    folder = Path(resources.__file__).parent
    bench, more = (json.loads((folder / f"{name}_prompts.json").read_text(encoding="utf-8")) for name in ("bench", "general"))
    texts = [prompt["text"] for prompt in bench["mixed" if demo else "general"] if not prompt.get("before")]
    return [to_messages(text) for text in (texts if demo else [*texts, *more])]


def _remove(args: argparse.Namespace) -> int:
    target, drafter = folders(args)
    removed = drafter and remove_lora(drafter, target)
    run_deleted = delete_runs()
    if args.json:
        print_json({"removed": removed and str(removed), "run_deleted": run_deleted})
    else:
        say(f"Removed {removed}" if removed else "The drafter isn't tuned for this target.")
        if run_deleted:
            say("Deleted the paused run.")
    return 0
