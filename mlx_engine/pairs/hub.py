"""What the model hub says about a repo: its files at a commit, its small JSON files, and where the bytes are."""

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
from mlx_engine.pairs.hub_errors import TRANSIENT, RevisionGone, busy, explain, wants_token
from mlx_engine.pairs.repo import Listing, RemoteFile, check_file, check_repo, check_revision, climbs_out, is_commit, is_wanted
from mlx_engine.pairs.tokens import stored_token

_Answer = TypeVar("_Answer")


class Hub:
    """One model hub, asked with one token. Thread-safe. Every method raises UserError, or Unreachable if a retry may help.

    Args:
        endpoint: its address; by default HF_ENDPOINT or huggingface.co.
        token: by default HF_TOKEN, the hub's own login, or, once a repo wants one, the one in the system's keychain.
        read_timeout: seconds of silence after which a connection counts as lost.
    """

    def __init__(self, endpoint: str | None = None, token: str | None = None, read_timeout: float = 20.0) -> None:
        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        self.timeout = httpx2.Timeout(read_timeout, connect=min(10.0, read_timeout))
        self._log_in(token or get_token())
        self._try_keychain, self._lock = self.token is None, threading.Lock()

    def listing(self, repo: str, revision: str = "main") -> Listing:
        """Return the files of a repo that would be downloaded, at the commit that `revision` names now."""
        check_repo(repo)
        check_revision(revision)
        info = self._ask(
            repo, lambda: self._api.model_info(repo, revision=revision, files_metadata=True, timeout=self.timeout.read)
        )
        if not is_commit(info.sha):
            raise UserError("no_commit", "The hub gives no commit for {repo}. Try another mirror, or try again later.", repo=repo)
        files = []
        for entry in info.siblings or ():
            name = entry.rfilename
            if not isinstance(name, str) or is_wanted(name) or climbs_out(name):
                size, digest = (entry.lfs.size, entry.lfs.sha256) if entry.lfs else (entry.size, entry.blob_id)
                files.append(check_file(repo, name, size, digest))
        if len({file.path for file in files}) < len(files):
            raise UserError("file_listed_twice", "{repo} lists a file twice, so it is refused. Choose another repo.", repo=repo)
        files.sort(key=lambda file: (file.size, file.path))
        license = next((tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")), None)
        new_name = info.id if isinstance(info.id, str) and info.id.lower() != repo.lower() else ""
        return Listing(repo, str(info.sha), tuple(files), new_name, license)

    def read_json(self, listing: Listing, path: str) -> dict:
        """Download a small JSON file of a listing into memory."""
        file = listing.find(path)
        values: dict[str, Any] = {"repo": listing.repo, "file": path}
        if file is None:
            raise UserError("file_not_in_repo", "{repo} has no {file}, so it isn't a model. Choose another repo.", **values)
        too_large = UserError("file_too_large", "The {file} of {repo} is implausibly large. Choose another repo.", **values)
        if file.size > LARGEST_CONFIG:
            raise too_large
        url, headers = self.locate(listing, file)
        body = b""
        try:
            with get_session().stream("GET", url, headers=headers, timeout=self.timeout) as response:
                if response.status_code in TRANSIENT:
                    raise busy(response)
                if response.status_code != 200:
                    template = "The hub refuses {file} of {repo} (status {status}). Try again later."
                    raise UserError("file_refused", template, **values, status=response.status_code)
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > LARGEST_CONFIG:
                        raise too_large
        except httpx2.HTTPError as error:
            raise explain(error, listing.repo, self.endpoint, bool(self.token)) from None
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise UserError("file_not_object", "The {file} of {repo} isn't a JSON object. Choose another repo.", **values)
        return value

    def locate(self, listing: Listing, file: RemoteFile) -> tuple[str, dict[str, str]]:
        """Return the current URL of a file, and the headers to send. Signed links expire: ask again if one is refused.

        Raises:
            RevisionGone: the commit, or its file, is no longer what was listed.
        """
        url = hf_hub_url(listing.repo, file.path, revision=listing.commit, endpoint=self.endpoint)
        found = self._ask(listing.repo, lambda: get_hf_file_metadata(url, token=self.token or False, timeout=self.timeout.read))
        if (found.commit_hash or listing.commit) != listing.commit or (found.size is not None and found.size != file.size):
            raise RevisionGone("revised_meanwhile", "{repo} was revised during the download. Start it again.", repo=listing.repo)
        headers = {"Accept-Encoding": "identity", "User-Agent": "slipstream"}
        if self.token and _origin(found.location) == _origin(self.endpoint):
            headers["Authorization"] = f"Bearer {self.token}"  # the token never goes to another host
        return found.location, headers

    def search(self, words: str, limit: int = 20) -> list[str]:
        """Return the names of repos that match, most downloaded first."""
        # not list_models of the hub's client, which retries an unreachable hub for half a minute and prints each attempt
        return self._ask(words, lambda: self._search({"search": words, "limit": limit, "sort": "downloads"}))

    def _search(self, query: dict[str, Any]) -> list[str]:
        headers = build_hf_headers(token=self.token or False, library_name="slipstream")
        answer = get_session().get(f"{self.endpoint}/api/models", params=query, headers=headers, timeout=self.timeout)
        hf_raise_for_status(answer)
        return [str(one["id"]) for one in answer.json()]

    def _log_in(self, token: str | None) -> None:
        self.token = token
        self._api = HfApi(endpoint=self.endpoint, token=token or False, library_name="slipstream")

    def _ask(self, repo: str, question: Callable[[], _Answer]) -> _Answer:
        token = self.token
        try:
            return question()
        except Exception as error:  # an invalid answer makes the hub's client fail anywhere
            if wants_token(error) and self._found_other_token(token):
                return self._ask(repo, question)
            raise explain(error, repo, self.endpoint, bool(self.token)) from None

    def _found_other_token(self, refused: str | None) -> bool:
        with self._lock:
            if self._try_keychain:
                self._try_keychain = False
                self._log_in(stored_token(self.endpoint))
            return self.token != refused


def _origin(url: str) -> tuple[Any, ...]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
