"""What the model hub says of a repo: its files at a commit, its small JSON files, where the bytes are. Fetches nothing large."""

import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import HfApi, constants, get_hf_file_metadata, get_session, get_token, hf_hub_url
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint import LARGEST_CONFIG
from mlx_engine.pairs.refusals import PASSING, RevisionGone, Unreachable, explained, wants_token, wish
from mlx_engine.pairs.repo import Listing, RemoteFile, check_file, check_repo, check_revision, is_commit, is_wanted, leads_out
from mlx_engine.pairs.tokens import kept_token

Value = TypeVar("Value")


class Hub:
    """One model hub, asked with one token. Safe to use from several threads.

    Args:
        endpoint: its address; HF_ENDPOINT, else huggingface.co.
        token: of an account. If none is given: the environment's (HF_TOKEN), the hub's own login, or, once a repo wants one, the
            one that the system's keychain has for this hub.
        read_timeout: seconds of silence after which a connection counts as lost.
    """

    def __init__(self, endpoint: str | None = None, token: str | None = None, read_timeout: float = 20.0) -> None:
        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        self.token = token or get_token()
        self.timeout = httpx2.Timeout(read_timeout, connect=min(10.0, read_timeout))
        self._keychain, self._turn = self.token is None, threading.Lock()  # whether it is still to be looked into
        self._log_in(self.token)

    def listing(self, repo: str, revision: str = "main") -> Listing:
        """The files of a repo that would be fetched, at the commit that `revision` names now.

        Raises:
            UserError: no such repo, no access, or a listing that is not to be trusted.
            Unreachable: worth another try.
        """
        check_repo(repo)
        info = self._ask(
            repo,
            lambda: self._api.model_info(repo, revision=check_revision(revision), files_metadata=True, timeout=self.timeout.read),
        )
        if not is_commit(info.sha):
            raise UserError(f"The hub gives no commit for {repo}, so its files cannot be pinned. Try another mirror, or later.")
        files = []
        for entry in info.siblings or ():
            digest = entry.lfs.sha256 if entry.lfs else entry.blob_id
            name = entry.rfilename
            if isinstance(name, str) and not is_wanted(name) and not leads_out(name):
                continue
            files.append(check_file(repo, name, entry.lfs.size if entry.lfs else entry.size, digest))
        if len({file.path for file in files}) < len(files):
            raise UserError(f"{repo} lists a file twice. The repo is refused.")
        files.sort(key=lambda file: (file.size, file.path))
        license = next((tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")), None)
        called = info.id if isinstance(info.id, str) and info.id.lower() != repo.lower() else ""
        return Listing(repo, str(info.sha), tuple(files), called, license)

    def read_json(self, listing: Listing, path: str) -> dict:
        """A small JSON file of a listing, read into memory and not kept.

        Raises:
            UserError: it is missing, too large to be one, or no JSON object.
        """
        file = listing.find(path)
        if file is None:
            raise UserError(f"{listing.repo} has no {path}, so it is not a model that Slipstream can run. Pick another one.")
        if file.size > LARGEST_CONFIG:
            raise UserError(
                f"The {path} of {listing.repo} has {file.size / 1e6:,.0f} MB; a real one has a few thousand bytes. It is refused."
            )
        url, headers = self.locate(listing, file)
        body = b""
        try:
            with get_session().stream("GET", url, headers=headers, timeout=self.timeout) as response:
                if response.status_code in PASSING:
                    raise Unreachable(f"The hub is busy or out of order (status {response.status_code}).", wish(response.headers))
                if response.status_code != 200:
                    raise UserError(f"The hub refuses {path} of {listing.repo} (status {response.status_code}). Try again later.")
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > LARGEST_CONFIG:
                        raise UserError(f"The {path} of {listing.repo} is larger than listed. The repo is refused.")
        except httpx2.HTTPError as error:
            raise explained(error, listing.repo, self.endpoint, bool(self.token)) from None
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise UserError(f"The {path} of {listing.repo} holds no JSON object. Pick another repo.")
        return value

    def locate(self, listing: Listing, file: RemoteFile) -> tuple[str, dict[str, str]]:
        """Where a file's bytes are now, and the headers to ask with. Signed links expire: ask again when one is refused.

        Raises:
            RevisionGone: the pinned commit, or the file in it, is no longer what was listed.
        """
        url = hf_hub_url(listing.repo, file.path, revision=listing.commit, endpoint=self.endpoint)
        found = self._ask(listing.repo, lambda: get_hf_file_metadata(url, token=self.token or False, timeout=self.timeout.read))
        if (found.commit_hash or listing.commit) != listing.commit or (found.size is not None and found.size != file.size):
            raise RevisionGone(f"{listing.repo} was revised while it was being fetched.")
        headers = {"Accept-Encoding": "identity", "User-Agent": "slipstream"}
        if self.token and _origin(found.location) == _origin(self.endpoint):
            headers["Authorization"] = f"Bearer {self.token}"  # the token never goes to another host
        return found.location, headers

    def search(self, words: str, limit: int = 20) -> list[str]:
        """Names of repos that match, most downloaded first.

        Raises:
            UserError: as `listing` does.
        """
        # not by the client's own list_models, which asks a hub that is not there for half a minute and prints each try
        return self._ask(words, lambda: self._search({"search": words, "limit": limit, "sort": "downloads"}))

    def _search(self, asked: dict[str, Any]) -> list[str]:
        headers = build_hf_headers(token=self.token or False, library_name="slipstream")
        answer = get_session().get(f"{self.endpoint}/api/models", params=asked, headers=headers, timeout=self.timeout)
        hf_raise_for_status(answer)
        return [str(one["id"]) for one in answer.json()]

    def _log_in(self, token: str | None) -> None:
        self.token = token
        self._api = HfApi(endpoint=self.endpoint, token=token or False, library_name="slipstream")

    def _ask(self, repo: str, question: Callable[[], Value]) -> Value:
        token = self.token
        try:
            return question()
        except UserError:
            raise
        except Exception as error:  # a mirror that answers nonsense makes the client fail anywhere
            if wants_token(error) and self._another_token(token):
                return self._ask(repo, question)
            raise explained(error, repo, self.endpoint, bool(self.token)) from None

    def _another_token(self, refused: str | None) -> bool:
        """Whether there is another token to ask with than the one that was refused."""
        with self._turn:
            if self._keychain:
                self._keychain = False
                self._log_in(kept_token(self.endpoint))
            return self.token != refused


def _origin(url: str) -> tuple[Any, ...]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
