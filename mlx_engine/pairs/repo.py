"""Names that come from outside: repos, files of a repo, digests. Whatever becomes a path on this disk passes here first."""

import re
from dataclasses import dataclass

from mlx_engine.errors import UserError

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*"
_REPO = re.compile(rf"{_PART}/{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*")
_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_LONGEST = 96  # characters, the hub's own limit for a name

# Models are data: nothing else is ever fetched. Weights are `model*.safetensors`, which is what mlx-lm reads.
_KINDS = (".json", ".jinja", ".txt", ".model", ".tiktoken")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a listing. `digest` names its blob: the SHA-256 of an LFS file, else the git blob id, which is a SHA-1."""

    path: str
    size: int  # bytes
    digest: str

    @property
    def lfs(self) -> bool:
        return len(self.digest) == 64


@dataclass(frozen=True)
class Listing:
    """The files of a repo at one commit that Slipstream would fetch."""

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]
    now_called: str = ""  # the repo's new name, where it was renamed
    license: str | None = None

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def find(self, path: str) -> RemoteFile | None:
        return next((file for file in self.files if file.path == path), None)


def check_repo(name: str) -> str:
    """The name, if it is OWNER/NAME.

    Raises:
        UserError: it is not, or it would lead out of the cache.
    """
    if not isinstance(name, str) or not _REPO.fullmatch(name) or len(name) > _LONGEST or "--" in name or name.endswith("."):
        raise UserError(f"{_shown(name)} is no repo name. Give OWNER/NAME, such as mlx-community/Qwen3-4B-bf16.")
    return name


def check_revision(name: str) -> str:
    """A branch, tag or commit id that is safe to ask for and to keep.

    Raises:
        UserError: it is none.
    """
    if not isinstance(name, str) or not _REVISION.fullmatch(name) or ".." in name:
        raise UserError(f"{_shown(name)} is no revision. Give a branch, a tag or a commit id.")
    return name


def is_commit(name: object) -> bool:
    return isinstance(name, str) and _SHA1.fullmatch(name) is not None


def is_wanted(path: str) -> bool:
    """Whether a file of a repo is ever fetched: data that mlx-lm reads, at the top of the repo."""
    if "/" in path or path.startswith("."):
        return False
    return path.endswith(_KINDS) or (path.startswith("model") and path.endswith(".safetensors"))


def leads_out(path: str) -> bool:
    """Whether a name tries to climb out of its folder: a repo that lists one is refused, though the file be unwanted."""
    return ".." in path.replace("\\", "/").split("/")


def check_file(repo: str, path: object, size: object, digest: object) -> RemoteFile:
    """One entry of a hub's listing.

    Raises:
        UserError: its name would lead out of the snapshot's folder, or its size or digest is none.
    """
    if not isinstance(path, str) or not _is_inside(path):
        raise UserError(f"{repo} lists a file with the name {_shown(path)}, which leads out of its folder. The repo is refused.")
    if type(size) is not int or size < 0:
        raise UserError(f"The hub gives no size for {path} in {repo}, so it cannot be fetched safely. Try again later.")
    if not isinstance(digest, str) or not (_SHA1.fullmatch(digest) or _SHA256.fullmatch(digest)):
        raise UserError(f"The hub gives no checksum for {path} in {repo}, so it cannot be checked. Try another mirror, or later.")
    return RemoteFile(path, size, digest)


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return bool(path) and "\\" not in path and path.isprintable() and all(part not in ("", ".", "..") for part in parts)


def _shown(value: object) -> str:
    """Whatever was given, as one short printable line."""
    return f"“{str(value)[:80]}”" if str(value).isprintable() else ascii(str(value)[:80])
