"""The download of a published set, and the prompts in its file."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read, cannot_write, data_folder
from mlx_engine.models.downloads.bandwidth import Throttle, download_limit
from mlx_engine.models.downloads.hub import Hub, RevisionGone
from mlx_engine.models.downloads.transfer import FileTransfer
from mlx_engine.models.files.hub_cache import HubCache, space_problem
from mlx_engine.models.files.repo import RepoListing
from mlx_engine.network import traffic
from mlx_engine.prompt_sets.parquet import text_column
from mlx_engine.prompt_sets.published_sets import PublishedSet, fields_of


def set_cache() -> HubCache:
    """Return the folder of downloaded sets."""
    return HubCache(data_folder() / "prompt-sets", "datasets")


def find_set(chosen: PublishedSet) -> Path | None:
    """Return the file of a downloaded set, or None."""
    place = set_cache().snapshot(chosen.repo, chosen.revision) / chosen.file
    return place if place.is_file() else None


@traffic.used_for("download")
def download_set(chosen: PublishedSet, stop: threading.Event, report: Callable[[int, int], None]) -> Path | None:
    """Download and verify a set, and return its file, or None if stopped.

    An earlier attempt is resumed.

    Args:
        report: called often with the bytes on this disk and the size.

    Raises:
        UserError: the set can't be downloaded. Downloaded data is kept.
    """
    hub, cache = Hub(kind="datasets"), set_cache()
    try:
        listing = _listing(hub, chosen)
        if problem := space_problem(listing.size - cache.received(listing), cache.root, cache.free_bytes()):
            raise UserError.of(problem)
        with cache.downloading([listing]):
            transfer = FileTransfer(hub, cache, [listing], throttle=Throttle(download_limit()))
            if not transfer.run(stop, lambda: report(transfer.received, listing.size)):
                return None
            return cache.publish(listing) / chosen.file
    except RevisionGone:
        raise _gone(chosen) from None
    except OSError as error:
        raise cannot_write(cache.root, error) from None


def remove_set(chosen: PublishedSet) -> int:
    """Delete a downloaded set, and return the bytes freed."""
    return set_cache().remove(chosen.repo)


def read_set(file: Path, chosen: PublishedSet, most: int) -> list[str]:
    """Return the first `most` prompts of a downloaded set.

    Raises:
        UserError: the file can't be read.
    """
    try:
        data = file.read_bytes()
        rows = _parquet_rows(data, chosen.fields) if file.suffix == ".parquet" else _json_rows(data)
        prompts = list(islice(filter(None, (_prompt(chosen, row) for row in rows)), most))
        if not prompts:
            raise ValueError("it has no prompts")
        return prompts
    except OSError as error:
        raise cannot_read(file, error) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        template = "Can't read “{file}” from {repo}: {reason}. Remove the set, then download it again."
        raise UserError("set_unreadable", template, file=str(file), repo=chosen.repo, reason=str(error)) from None


def _listing(hub: Hub, chosen: PublishedSet) -> RepoListing:
    """Return the listing of only the set's file."""
    listing = hub.listing(chosen.repo, chosen.revision)
    file = listing.find(chosen.file)
    if file is None or listing.commit != chosen.revision:
        raise _gone(chosen)
    return replace(listing, files=(file,))


def _gone(chosen: PublishedSet) -> UserError:
    template = "{repo} no longer has the revision that Slipstream uses ({revision}). Use another set, or a file of your own."
    return UserError("set_gone", template, repo=chosen.repo, revision=chosen.revision[:7])


def _parquet_rows(data: bytes, fields: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for values in zip(*(text_column(data, field) for field in fields), strict=True):
        yield dict(zip(fields, values, strict=True))


def _json_rows(data: bytes) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in data.splitlines() if line.strip())


def _prompt(chosen: PublishedSet, row: dict[str, Any]) -> str | None:
    return next((text for text in (_filled(template, row) for template in chosen.templates) if text), None)


def _filled(template: str, row: dict[str, Any]) -> str | None:
    """Return a template's text, or None if a field of it is missing or empty."""
    return template.format(**row) if all(row.get(field) for field in fields_of(template)) else None
