"""The bytes of a model's MTP head on the hub.

If `#mtp` follows the name of a repo, only these bytes are downloaded. Each weight file with tensors of the head becomes a
small one with a header of its own.
"""

import hashlib
import json
from dataclasses import replace

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.checkpoint import LARGEST_INDEX
from mlx_engine.models.files.mtp_head import LARGEST_HEADER, LENGTH, PREFIX, head_tensors, parse_header
from mlx_engine.models.files.repo import Excerpt, RemoteFile, RepoListing

_INDEX = "model.safetensors.index.json"


def head_listing(hub: Hub, listing: RepoListing) -> RepoListing:
    """Return the listing of a model's MTP head: config and parts of files.

    Raises:
        UserError: the repo has no head, or the hub can't be used.
    """
    config = listing.find("config.json")
    parts = [part for file in _candidates(hub, listing) if (part := _part(hub, listing, file)) is not None]
    if not parts or config is None:
        raise UserError("no_mtp_head", "{repo} has no MTP head. Choose another drafter.", repo=listing.repo)
    return replace(listing, files=(config, *parts))


def _candidates(hub: Hub, listing: RepoListing) -> list[RemoteFile]:
    """Return the files with tensors of the head, or all without an index."""
    weights = [file for file in listing.files if file.path.endswith(".safetensors")]
    if listing.find(_INDEX) is None:
        return weights
    index = hub.read_json(listing, _INDEX, LARGEST_INDEX).get("weight_map")
    if not isinstance(index, dict):
        raise _damaged(listing, _INDEX)
    named = [file for tensor, file in index.items() if tensor.startswith(PREFIX)]
    return [file for file in weights if file.path in named]


def _part(hub: Hub, listing: RepoListing, file: RemoteFile) -> RemoteFile | None:
    """Return the head's part of a weight file, or None."""
    (length,) = LENGTH.unpack(hub.read_range(listing, file, 0, LENGTH.size))
    start = LENGTH.size + length
    if length > LARGEST_HEADER or start > file.size:
        raise _damaged(listing, file.path)
    try:
        header = parse_header(hub.read_range(listing, file, LENGTH.size, start), file.path)
        parts = head_tensors(header, file.path)
    except UserError as error:
        raise _damaged(listing, file.path) if error.text.code == "damaged_weights_header" else error from None
    tensors = {name: entry for name, entry in header.items() if name.startswith(PREFIX)}
    if len(tensors) in (0, len(header)):
        return file if tensors else None
    if start + max(entry["data_offsets"][1] for entry in header.values()) != file.size:
        raise _damaged(listing, file.path)
    ranges: list[tuple[int, int]] = []
    entries, at = {}, 0
    for (dtype, first, end), (name, entry) in zip(parts, tensors.items(), strict=True):
        entries[name] = {"dtype": dtype, "shape": entry["shape"], "data_offsets": [at, at + end - first]}
        at += end - first
        begin = ranges.pop()[0] if ranges and ranges[-1][1] == start + first else start + first
        ranges.append((begin, start + end))
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    excerpt = Excerpt(file, LENGTH.pack(len(text)) + text, tuple(ranges))
    digest = hashlib.sha256(f"{file.digest} {ranges} ".encode() + excerpt.start).hexdigest()
    return RemoteFile(file.path, len(excerpt.start) + at, digest, excerpt)


def _damaged(listing: RepoListing, path: str) -> UserError:
    template = "The published copy of {file} in {repo} is damaged. Choose another repo."
    return UserError("published_file_damaged", template, file=path, repo=listing.repo)
