"""The model hub: repo listings, errors, and access tokens.

Tokens are stored in the system's keychain, one per hub. HF_TOKEN and the hub's own login take precedence and are never changed.
"""

import json
import os
import re
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx2
from huggingface_hub import constants, errors, get_hf_file_metadata, get_token, hf_hub_url
from huggingface_hub.utils import hf_raise_for_status
from huggingface_hub.utils import logging as hub_logging

from mlx_engine.contract import secrets
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import data_folder, read_json, write_json
from mlx_engine.models.files.checkpoint import LARGEST_CONFIG
from mlx_engine.models.files.repo import (
    RemoteFile,
    RepoKind,
    RepoListing,
    check_count,
    check_distinct,
    check_file,
    check_repo,
    check_revision,
    climbs_out,
    is_commit,
    is_repo,
    is_wanted,
    whole_model,
)
from mlx_engine.network import hub_session, local_network, traffic
from mlx_engine.network.hub_session import get_session
from mlx_engine.network.offline import OfflineRefusal

_Answer = TypeVar("_Answer")
_SERVICE = "Slipstream"  # name in the keychain
_TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)  # status codes for which a retry may help
_LONGEST_WAIT = 300.0  # seconds, even if the hub asks for more
_LARGEST_ANSWER = 32_000_000  # bytes of a listing; published ones have a few MB at most
_LONGEST_ANSWER = 60.0  # seconds for a listing or a small file
_NEEDS_TOKEN = {"repo_gated", "repo_gated_for_account", "repo_not_found_or_private", "token_rejected"}

hub_session.install()
constants.HF_HUB_DISABLE_TELEMETRY = True  # otherwise the client tells the hub which programs are installed
hub_logging.get_logger().handlers.clear()  # they print to the terminal
hub_logging.set_verbosity_error()  # otherwise the client prints warnings sent by the hub


class NoAnswer(UserError):
    """An error that makes the hub unusable, such as being offline."""


class Unreachable(NoAnswer):
    """A temporary error of the hub. `after_s` is the requested wait in seconds."""

    def __init__(self, code: str, template: str, after_s: float | None = None, **values: Any) -> None:
        super().__init__(code, template, **values)
        self.after_s = after_s


class _TooLarge(Exception):
    """An error for a response that is larger than any valid one."""


class RevisionGone(UserError):
    """An error for a download whose commit no longer exists."""


def needs_token(text: EngineText) -> bool:
    """Return whether a refused request needs a different access token."""
    return text.code in _NEEDS_TOKEN


def retry_after(header: str) -> float | None:
    """Return a Retry-After header in seconds, at most 300, or None."""
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", header, re.ASCII):
        return min(float(header), _LONGEST_WAIT)
    try:
        seconds = (parsedate_to_datetime(header).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def busy(response: httpx2.Response) -> Unreachable:
    template = "The hub is busy or down (status {status}). Try again in a few minutes."
    after_s = retry_after(response.headers.get("Retry-After", ""))
    return Unreachable("hub_busy", template, after_s=after_s, status=response.status_code)


def explain(error: Exception, repo: str, endpoint: str, has_token: bool) -> UserError:
    """Return the UserError for the hub client's exception about `repo`."""
    values: dict[str, Any] = {
        "repo": repo,
        "endpoint": endpoint,
        "page": f"{endpoint}/{repo}",
        "reason": (str(error).strip() or type(error).__name__).splitlines()[0][:200],
    }
    response = error.response if isinstance(error, errors.HfHubHTTPError) else None
    status = response.status_code if response is not None else 0
    match error:
        case OfflineRefusal():
            return NoAnswer.of(error.text)
        case errors.OfflineModeIsEnabled():
            return NoAnswer("hub_offline", "HF_HUB_OFFLINE is set, so the model hub can't be used. Unset it, then try again.")
        case errors.GatedRepoError() if has_token:
            template = "Your account can't access {repo} yet. Request access at {page}, and use a token that can read gated repos."
            return UserError("repo_gated_for_account", template, **values)
        case errors.GatedRepoError():
            template = (
                "{repo} is gated. Accept its conditions at {page}, then add an access token in Settings or run "
                "“slipstream models login”."
            )
            return UserError("repo_gated", template, **values)
        case errors.RevisionNotFoundError():
            return RevisionGone("revision_gone", "{repo} no longer has this revision. Start the download again.", **values)
        case errors.RemoteEntryNotFoundError():
            return RevisionGone("file_gone", "A file in {repo} no longer exists. Start the download again.", **values)
        case errors.DisabledRepoError():
            return UserError("repo_disabled", "{repo} was disabled on the hub. Choose another pair.", **values)
        case errors.RepositoryNotFoundError() if has_token:
            template = "Can't find {repo} at {endpoint} with your access token. Check the spelling and the token's permissions."
            return UserError("repo_not_found", template, **values)
        case errors.RepositoryNotFoundError():
            template = "Can't find {repo} at {endpoint}. Check the spelling, or log in with an access token if it is private."
            return UserError("repo_not_found_or_private", template, **values)
        case _ if status == 401:
            template = (
                "The hub rejected your access token. Create a new one at {endpoint}/settings/tokens, then enter it "
                "in Settings or run “slipstream models login”."
            )
            return NoAnswer("token_rejected", template, **values)
        case _ if status == 403:
            template = "Your access token isn't allowed to read {repo}. See {page} for the requirements."
            return UserError("token_without_access", template, **values)
        case _ if response is not None and status in TRANSIENT:
            return busy(response)
        case httpx2.ProxyError():
            template = "The proxy refused the connection to {endpoint} ({reason}). Check HTTPS_PROXY and NO_PROXY."
            return NoAnswer("proxy_refused", template, **values)
        case _TooLarge():
            template = "The hub's response for {repo} is too large. Try another mirror."
            return UserError("hub_answer_too_large", template, **values)
        case httpx2.UnsupportedProtocol() if _is_web(endpoint):
            return unsafe_redirect(endpoint)
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            template = "“{endpoint}” isn't a valid hub address. Check HF_ENDPOINT (default: https://huggingface.co)."
            return NoAnswer("invalid_endpoint", template, **values)
        case httpx2.TransportError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
            template = "The certificate of {endpoint} isn't trusted. Install your proxy's certificate, or set SSL_CERT_FILE."
            return NoAnswer("untrusted_certificate", template, **values)
        case httpx2.TransportError() if local_network.may_be_denied(urlsplit(endpoint).hostname or "", error):
            return Unreachable.of(local_network.denied(_host(endpoint)))
        case httpx2.TransportError():
            template = "Can't reach {endpoint}. Check your network connection."
            return Unreachable("hub_unreachable", template, **values)
    template = "The hub's response for {repo} is invalid ({reason}). Try again later, or use another mirror."
    return UserError("invalid_hub_answer", template, **values)


def no_ranges(repo: str, file: str) -> UserError:
    template = (
        "The server of {file} can't send parts of files, so the MTP head of {repo} can't be downloaded. Choose another drafter."
    )
    return UserError("no_ranges", template, file=file, repo=repo)


def unsafe_redirect(endpoint: str) -> UserError:
    template = "{endpoint} redirected a request to an unsafe address. Try another mirror."
    return UserError("unsafe_redirect", template, endpoint=endpoint)


@dataclass(frozen=True)
class FoundRepo:
    """A result of a search. `downloads` are those of the last month, 0 if unknown."""

    name: str
    downloads: int = 0


class Hub:
    """A model hub, accessed with one token. Thread-safe.

    Every method raises UserError, or its subclass Unreachable if a retry may help.

    Args:
        endpoint: the hub's address; by default HF_ENDPOINT, the user's mirror, or huggingface.co.
        token: by default HF_TOKEN or the hub's own login; the keychain's token is used once a repo requires one.
        read_timeout: seconds of silence after which a connection counts as lost.
        kind: what the repos are.
    """

    def __init__(
        self, endpoint: str | None = None, token: str | None = None, read_timeout: float = 20.0, kind: RepoKind = "models"
    ) -> None:
        self._kind = kind
        self.endpoint = (endpoint or ("" if os.environ.get("HF_ENDPOINT") else mirror()) or constants.ENDPOINT).rstrip("/")
        self.timeout = httpx2.Timeout(read_timeout, connect=min(10.0, read_timeout))
        self.token = token or get_token()
        self._try_keychain, self._lock = self.token is None, threading.Lock()

    def listing(self, repo: str, revision: str = "main") -> RepoListing:
        """Return the downloadable files of a repo at the current commit of `revision`.

        Those of datasets are all files.
        """
        check_repo(repo)
        check_revision(revision)
        address = f"{self.endpoint}/api/{self._kind}/{whole_model(repo)}/revision/{quote(revision, safe='')}?blobs=true"
        return self._ask(repo, lambda: _listing(repo, self._get_json(address), is_wanted if self._kind == "models" else bool))

    def read_json(self, listing: RepoListing, path: str, most: int = LARGEST_CONFIG) -> dict:
        """Return the content of a JSON file of at most `most` bytes in a listing."""
        file = listing.find(path)
        values: dict[str, Any] = {"repo": listing.repo, "file": path}
        if file is None:
            raise UserError("file_not_in_repo", "{repo} has no {file}, so it isn't a model. Choose another repo.", **values)
        too_large = UserError("file_too_large", "{file} in {repo} is too large to be valid. Choose another repo.", **values)
        if file.size > most:
            raise too_large
        try:
            value = json.loads(self._read(listing, file, {}, most))
        except _TooLarge:
            raise too_large from None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise UserError("file_not_object", "{file} in {repo} isn't a JSON object. Choose another repo.", **values)
        return value

    def read_range(self, listing: RepoListing, file: RemoteFile, first: int, end: int) -> bytes:
        """Return the bytes from `first` to `end` of a file in a listing."""
        try:
            body = self._read(listing, file, {"Range": f"bytes={first}-{end - 1}"}, end - first)
        except _TooLarge:
            raise no_ranges(listing.repo, file.path) from None
        if len(body) < end - first:
            raise explain(httpx2.RemoteProtocolError("the response is too short"), listing.repo, self.endpoint, bool(self.token))
        return body

    def _read(self, listing: RepoListing, file: RemoteFile, headers: dict[str, str], most: int) -> bytes:
        url, own = self.locate(listing, file)
        try:
            return self._get(url, own | headers, most)
        except errors.HfHubHTTPError as error:
            if error.response.status_code in TRANSIENT:
                raise busy(error.response) from None
            values: dict[str, Any] = {"file": file.path, "repo": listing.repo, "status": error.response.status_code}
            template = "The hub refused the request for {file} in {repo} (status {status}). Try again later."
            raise UserError("file_refused", template, **values) from None
        except (httpx2.HTTPError, zlib.error, OfflineRefusal) as error:
            raise explain(error, listing.repo, self.endpoint, bool(self.token)) from None

    def locate(self, listing: RepoListing, file: RemoteFile) -> tuple[str, dict[str, str]]:
        """Return the current URL of a file, and the headers to send. Signed URLs expire.

        Raises:
            RevisionGone: the commit or the file has changed since the listing.
        """
        file = file.source
        name, kind = whole_model(listing.repo), self._kind.removesuffix("s")
        url = hf_hub_url(name, file.path, repo_type=kind, revision=listing.commit, endpoint=self.endpoint)
        found = self._ask(listing.repo, lambda: get_hf_file_metadata(url, token=self.token or False, timeout=self.timeout.read))
        if (found.commit_hash or listing.commit) != listing.commit or (found.size is not None and found.size != file.size):
            template = "{repo} was revised during the download. Start the download again."
            raise RevisionGone("revised_meanwhile", template, repo=listing.repo)
        if not _is_web(found.location):
            raise unsafe_redirect(self.endpoint)
        # the token never goes to another host
        return found.location, _headers(self.token if _origin(found.location) == _origin(self.endpoint) else None)

    @traffic.used_for("search")
    def search(self, words: str, limit: int = 20) -> list[FoundRepo]:
        """Return matching repos, most downloaded first."""
        # not the client's list_models, which retries for half a minute and prints each attempt
        address = f"{self.endpoint}/api/models?search={quote(words, safe='')}&limit={limit}&sort=downloads"
        return self._ask(words, lambda: [_found(one) for one in self._get_json(address) if is_repo(one["id"])])

    def account(self) -> str:
        return str(self._get_json(f"{self.endpoint}/api/whoami-v2")["name"])

    def _get_json(self, url: str) -> Any:
        return json.loads(self._get(url, _headers(self.token), _LARGEST_ANSWER))

    def _get(self, url: str, headers: dict[str, str], most: int) -> bytes:
        """Return the body of a response of at most `most` bytes."""
        body, deadline = bytearray(), time.monotonic() + _LONGEST_ANSWER
        with get_session().stream("GET", url, headers=headers, timeout=self.timeout) as answer:
            # without the body, which may be endless
            hf_raise_for_status(httpx2.Response(answer.status_code, headers=answer.headers, request=answer.request))
            for piece in answer.iter_raw():
                body += piece
                if len(body) > most:
                    raise _TooLarge
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the response takes too long")
        if answer.headers.get("Content-Encoding", "identity") == "identity":
            return bytes(body)
        data = zlib.decompressobj(wbits=47).decompress(body, most + 1)  # gzip or zlib, decoded only as far as needed
        if len(data) > most:
            raise _TooLarge
        return data

    def _ask(self, repo: str, question: Callable[[], _Answer]) -> _Answer:
        token = self.token
        if token and not _is_token(token):
            source = next((name for name in _TOKEN_VARIABLES if os.environ.get(name)), constants.HF_TOKEN_PATH)
            raise NoAnswer("malformed_token", "The access token in {source} isn't valid. Correct it or remove it.", source=source)
        try:
            return question()
        except OfflineRefusal as error:
            raise NoAnswer.of(error.text) from None
        except UserError:
            raise
        except Exception as error:  # an invalid response can fail anywhere
            if _is_refusal(error) and self._found_other_token(token):
                return self._ask(repo, question)
            raise explain(error, repo, self.endpoint, bool(self.token)) from None

    def _found_other_token(self, refused: str | None) -> bool:
        with self._lock:
            if self._try_keychain:
                self._try_keychain = False
                self.token = stored_token(self.endpoint)
            return self.token != refused


def mirror() -> str:
    """Return the user's replacement for huggingface.co, or ""."""
    try:
        saved = read_json(_mirror_file())
    except UserError:
        return ""
    address = saved.get("mirror") if isinstance(saved, dict) else ""
    return address if isinstance(address, str) and _is_web(address) else ""


def save_mirror(address: str) -> None:
    """Save the user's replacement for huggingface.co, or "" for none.

    Raises:
        UserError: the address isn't a web address or can't be saved.
    """
    if address and not _is_web(address):
        template = "“{address}” isn't a web address. Enter one that starts with https://."
        raise UserError("invalid_mirror", template, address=address[:200])
    write_json(_mirror_file(), {"mirror": address})


def _mirror_file() -> Path:
    return data_folder() / "hub.json"


def _listing(repo: str, info: dict[str, Any], is_needed: Callable[[str], bool]) -> RepoListing:
    """Return the validated listing of a repo."""
    if not is_commit(info.get("sha")):
        raise UserError("no_commit", "The hub provides no commit for {repo}. Try another mirror, or try again later.", repo=repo)
    entries = [(entry["rfilename"], entry) for entry in info.get("siblings") or ()]
    wanted = [(name, entry) for name, entry in entries if not isinstance(name, str) or is_needed(name) or climbs_out(name)]
    check_count(repo, len(wanted))
    files, sizes = [], dict[str, int]()
    for name, entry in wanted:
        lfs = entry.get("lfs")
        size, digest = (lfs["size"], lfs["sha256"]) if lfs else (entry.get("size"), entry.get("blobId"))
        files.append(check_file(repo, name, size, digest))
        if sizes.setdefault(digest, size) != size:
            raise ValueError(f"two sizes for {digest}")
    check_distinct(repo, [file.path for file in files])
    files.sort(key=lambda file: (file.size, file.path))
    license = next((tag.removeprefix("license:") for tag in info.get("tags") or () if tag.startswith("license:")), None)
    name = info.get("id")
    new_name = name if isinstance(name, str) and name.lower() != whole_model(repo).lower() else ""
    return RepoListing(repo, info["sha"], tuple(files), new_name, license)


def _found(info: dict[str, Any]) -> FoundRepo:
    downloads = info.get("downloads")
    return FoundRepo(info["id"], downloads if type(downloads) is int and downloads > 0 else 0)


def _headers(token: str | None) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity", "User-Agent": "slipstream"}
    return headers | ({"Authorization": f"Bearer {token}"} if token else {})


def _is_web(url: str) -> bool:
    try:
        parts = httpx2.URL(url)
    except httpx2.InvalidURL:
        return False
    return parts.scheme in ("http", "https") and bool(parts.host) and (parts.port or 0) < 1 << 16


def _origin(url: str) -> tuple[Any, ...]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def stored_token(endpoint: str) -> str | None:
    """Return a hub's token from the keychain, or None."""
    return secrets.saved(_SERVICE, _host(endpoint))


def store_token(endpoint: str, token: str) -> str:
    """Check a token with the hub, store it in the keychain, and return the account."""
    token = token.strip()
    if not _is_token(token):
        template = "This isn't a valid access token. Create one at {endpoint}/settings/tokens."
        raise UserError("invalid_token", template, endpoint=endpoint)
    try:
        account = Hub(endpoint, token).account()
    except Exception as error:  # an invalid response can fail anywhere
        if _is_refusal(error):
            template = "{endpoint} rejected this access token. Create a new one at {endpoint}/settings/tokens."
            raise UserError("unknown_token", template, endpoint=endpoint) from None
        raise explain(error, "", endpoint, True) from None
    if (reason := secrets.save(_SERVICE, _host(endpoint), token)) is not None:
        secrets.delete(_SERVICE, _host(endpoint))
        template = "Can't store the token in the keychain ({reason}). Run “hf auth login”, or set HF_TOKEN."
        raise UserError("no_keychain", template, reason=reason)
    return account


def _is_refusal(error: Exception) -> bool:
    """Return whether another token may help. Private repos are reported as missing."""
    if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError):
        return True
    return isinstance(error, errors.HfHubHTTPError) and error.response is not None and error.response.status_code in (401, 403)


def _is_token(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text and 0 < len(text) <= 1000


def delete_token(endpoint: str) -> bool:
    """Remove a hub's token from the keychain, and return whether one was removed."""
    if stored_token(endpoint) is None:
        return False
    secrets.delete(_SERVICE, _host(endpoint))
    return stored_token(endpoint) is None


def _host(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return parts.netloc.rpartition("@")[2] or endpoint
