"""Validation of names from outside before they become local paths."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from mlx_engine.errors import UserError

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*"
_REPO = re.compile(rf"{_PART}/{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*")
_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_LONGEST = 96  # characters; the hub's limit
_LARGEST = 1 << 50  # bytes of a file
# Only data is downloaded, never code. Weights are `model*.safetensors`, the files that mlx-lm reads.
_SUFFIXES = (".json", ".jinja", ".txt", ".model", ".tiktoken")


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repo. `digest` is SHA-256 (LFS) or the git blob ID (SHA-1)."""

    path: str
    size: int  # bytes
    digest: str

    @property
    def lfs(self) -> bool:
        return len(self.digest) == 64


@dataclass(frozen=True)
class Listing:
    """The files of a repo at one commit that Slipstream downloads."""

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]
    new_name: str = ""  # if the repo was renamed
    license: str | None = None

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def find(self, path: str) -> RemoteFile | None:
        return next((file for file in self.files if file.path == path), None)


def is_repo(name: object) -> bool:
    """Return whether a name is a safe OWNER/NAME."""
    if not isinstance(name, str) or len(name) > _LONGEST or "--" in name or name.endswith("."):
        return False
    return _REPO.fullmatch(name) is not None


def check_repo(name: str) -> str:
    """Return the name if it is a safe OWNER/NAME."""
    if not is_repo(name):
        template = "{name} isn't a repo name. Use the form OWNER/NAME, such as mlx-community/Qwen3-4B-bf16."
        raise UserError("invalid_repo_name", template, name=_printable(name))
    return name


def check_revision(name: str) -> str:
    """Return the name if it is a safe branch, tag, or commit ID."""
    if not isinstance(name, str) or not _REVISION.fullmatch(name) or ".." in name:
        raise UserError("invalid_revision", "{name} isn't a revision. Use a branch, tag, or commit ID.", name=_printable(name))
    return name


def is_commit(name: object) -> bool:
    return isinstance(name, str) and _SHA1.fullmatch(name) is not None


def is_wanted(path: str) -> bool:
    """Return whether a file is data that mlx-lm reads from the top level of a repo."""
    if "/" in path or path.startswith("."):
        return False
    return path.endswith(_SUFFIXES) or (path.startswith("model") and path.endswith(".safetensors"))


def climbs_out(path: str) -> bool:
    """Return whether a name would leave its folder."""
    return ".." in path.replace("\\", "/").split("/")


def check_file(repo: str, path: object, size: object, digest: object) -> RemoteFile:
    if not isinstance(path, str) or not _is_inside(path):
        template = "{repo} contains a file named {name}, which points outside its folder. Choose another repo."
        raise UserError("unsafe_file_name", template, repo=repo, name=_printable(path))
    if type(size) is not int or not 0 <= size <= _LARGEST:
        raise UserError("no_file_size", "The hub provides no size for {file} in {repo}. Try again later.", file=path, repo=repo)
    if not isinstance(digest, str) or not (_SHA1.fullmatch(digest) or _SHA256.fullmatch(digest)):
        template = "The hub provides no checksum for {file} in {repo}. Try another mirror, or try again later."
        raise UserError("no_file_checksum", template, file=path, repo=repo)
    return RemoteFile(path, size, digest)


def check_distinct(repo: str, paths: Iterable[str]) -> None:
    """Refuse names that are the same file on a Mac, where one would replace another."""
    seen: dict[str, str] = {}  # by name without case and composition of accents, which the file system ignores
    for path in paths:
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
        if folded in seen:
            template = "{repo} contains {first} and {second}, which are the same file on a Mac. Choose another repo."
            raise UserError("files_collide", template, repo=repo, first=seen[folded], second=path)
        seen[folded] = path


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return bool(path) and "\\" not in path and path.isprintable() and all(part not in ("", ".", "..") for part in parts)


def _printable(value: object) -> str:
    text = str(value)[:80]
    return f"“{text}”" if str(value).isprintable() else ascii(text)
