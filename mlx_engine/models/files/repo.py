"""Validation of names from outside before they become local paths."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mlx_engine.contract.errors import UserError

RepoKind = Literal["models", "datasets"]
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*"
_REPO = re.compile(rf"{_PART}/{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*")
_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_LONGEST = 96  # characters; the hub's limit
_LARGEST = 1 << 50  # bytes of a file
MOST_FILES = 2000  # of a repo; published models have a few hundred at most
# Only data is downloaded, never code. mlx-lm reads `model*.safetensors`, and some repos store their MTP head separately.
_SUFFIXES = (".json", ".jinja", ".txt", ".model", ".tiktoken")
_WEIGHTS = ("model", "mtp")
_HEAD = "#mtp"  # ends the name of a model's MTP head


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repo. `digest` is SHA-256 (LFS) or the git blob ID (SHA-1)."""

    path: str
    size: int  # bytes
    digest: str
    excerpt: "Excerpt | None" = None  # if it is only a part of a file of the repo; then `digest` identifies the part

    @property
    def lfs(self) -> bool:
        return len(self.digest) == 64

    @property
    def source(self) -> "RemoteFile":
        """The file of the repo."""
        return self.excerpt.file if self.excerpt else self


@dataclass(frozen=True)
class Excerpt:
    """Ranges of a file, and the bytes to write before them."""

    file: RemoteFile
    start: bytes
    ranges: tuple[tuple[int, int], ...]  # first byte and end of each

    def locate(self, first: int, end: int) -> tuple[int, int]:
        """Return where byte `first` is in the file, and how far it goes on."""
        at = len(self.start)
        for begin, stop in self.ranges:
            if first < (ends := at + stop - begin):
                return begin + first - at, min(end, ends)
            at = ends
        raise ValueError(first)


@dataclass(frozen=True)
class RepoListing:
    """The files of a repo at one commit that Slipstream downloads."""

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]
    new_name: str = ""  # if the repo was renamed
    license: str | None = None

    @property
    def distinct(self) -> tuple[RemoteFile, ...]:
        """The files to download: one of those with the same content, which share a blob."""
        return tuple({file.digest: file for file in reversed(self.files)}.values())[::-1]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.distinct)

    def find(self, path: str) -> RemoteFile | None:
        return next((file for file in self.files if file.path == path), None)


def is_repo(name: object) -> bool:
    """Return whether a name is a safe OWNER/NAME, or that of its MTP head."""
    if not isinstance(name, str) or len(name) > _LONGEST or "--" in name or whole_model(name).endswith("."):
        return False
    return _REPO.fullmatch(whole_model(name)) is not None


def is_head(name: str) -> bool:
    """Return whether a name is that of a head, such as Qwen/Qwen3.5-9B#mtp."""
    return name.endswith(_HEAD)


def head_of(name: str) -> str:
    return name + _HEAD


def whole_model(name: str) -> str:
    """Return the repo on the hub."""
    return name.removesuffix(_HEAD)


def check_repo(name: str) -> str:
    """Return the name if it is safe; see `is_repo`."""
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
    """Return whether a file is data that a model reads, at a repo's top."""
    if "/" in path or path.startswith("."):
        return False
    return path.endswith(_SUFFIXES) or (path.startswith(_WEIGHTS) and path.endswith(".safetensors"))


def climbs_out(path: str) -> bool:
    """Return whether a name would leave its folder."""
    return ".." in path.replace("\\", "/").split("/")


def check_count(repo: str, count: int) -> None:
    """Refuse a repo with more files than a model can have."""
    if count > MOST_FILES:
        template = "{repo} lists {count:,} files, but a model has at most {most:,}. Choose another repo."
        raise UserError("too_many_files", template, repo=repo, count=count, most=MOST_FILES)


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
