"""The model hub: what it says about repos, why it refuses, and the access tokens that it is asked with.

Tokens are kept in the system's keychain, one per hub. HF_TOKEN and the hub's own login take precedence; neither is ever written.
"""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import HfApi, constants, errors, get_hf_file_metadata, get_session, get_token, hf_hub_url
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

from mlx_engine.errors import EngineText, UserError
from mlx_engine.pairs.checkpoint import LARGEST_CONFIG
from mlx_engine.pairs.repo import Listing, RemoteFile, check_file, check_repo, check_revision, climbs_out, is_commit, is_wanted

_Answer = TypeVar("_Answer")
_SERVICE = "Slipstream"  # of the keychain
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)  # status codes that may change with another try
_NEEDS_TOKEN = {"repo_gated", "repo_gated_for_account", "repo_not_found_or_private", "token_rejected"}


class NoAnswer(UserError):
    """The hub answers no questions at all: it is offline, out of reach, or rejects the token."""


class Unreachable(NoAnswer):
    """The hub didn't answer as expected, but may do so later. `after_s` is the wait that it asks for."""

    def __init__(self, code: str, template: str, after_s: float | None = None, **values: Any) -> None:
        super().__init__(code, template, **values)
        self.after_s = after_s


class RevisionGone(UserError):
    """The commit that a download was pinned to no longer exists."""


def wants_token(error: Exception) -> bool:
    """Whether the hub refused something that another account might get."""
    if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError):
        return True
    return isinstance(error, errors.HfHubHTTPError) and error.response is not None and error.response.status_code in (401, 403)


def needs_token(text: EngineText) -> bool:
    """Whether an explained refusal asks the user for another access token."""
    return text.code in _NEEDS_TOKEN


def busy(response: httpx2.Response) -> Unreachable:
    try:
        after_s = min(float(response.headers.get("Retry-After", "")), 300.0)
    except ValueError:  # absent, or a date
        after_s = None
    template = "The hub is busy or down (status {status}). Try again in a few minutes."
    return Unreachable("hub_busy", template, after_s=after_s, status=response.status_code)


def explain(error: Exception, repo: str, endpoint: str, has_token: bool) -> UserError:
    """Return the UserError for an exception of the hub's client about `repo`."""
    values: dict[str, Any] = {
        "repo": repo,
        "endpoint": endpoint,
        "page": f"{endpoint}/{repo}",
        "reason": (str(error).strip() or type(error).__name__).splitlines()[0][:200],
    }
    response = error.response if isinstance(error, errors.HfHubHTTPError) else None
    status = response.status_code if response is not None else 0
    match error:
        case errors.OfflineModeIsEnabled():
            return NoAnswer("hub_offline", "HF_HUB_OFFLINE is set, so the model hub can't be used. Unset it and try again.")
        case errors.GatedRepoError() if has_token:
            return UserError(
                "repo_gated_for_account",
                "{repo} is gated, and your account has no access yet. Open {page} and accept the conditions. Some owners approve "
                "each request. Also check at {endpoint}/settings/tokens that your token may read gated repos.",
                **values,
            )
        case errors.GatedRepoError():
            return UserError(
                "repo_gated",
                "{repo} is gated. Open {page}, log in and accept its conditions. Then enter your access token in Settings, "
                "or use “slipstream models login”, “hf auth login” or HF_TOKEN.",
                **values,
            )
        case errors.RevisionNotFoundError():
            return RevisionGone("revision_gone", "{repo} no longer has that revision. Start the download again.", **values)
        case errors.RemoteEntryNotFoundError():
            return RevisionGone("file_gone", "A file of {repo} no longer exists. Start the download again.", **values)
        case errors.DisabledRepoError():
            return UserError("repo_disabled", "{repo} was disabled on the hub. Choose another pair.", **values)
        case errors.RepositoryNotFoundError() if has_token:
            return UserError(
                "repo_not_found", "There is no repo {repo} at {endpoint} that your token can read. Check the spelling.", **values
            )
        case errors.RepositoryNotFoundError():
            return UserError(
                "repo_not_found_or_private",
                "There is no repo {repo} at {endpoint}. Check the spelling. If it is private, enter your access token in Settings, "
                "or use “slipstream models login”, “hf auth login” or HF_TOKEN.",
                **values,
            )
        case _ if status == 401:
            return NoAnswer(
                "token_rejected",
                "The hub rejects your access token. Create a new one at {endpoint}/settings/tokens. Then enter it in Settings, "
                "or use “slipstream models login”, “hf auth login” or HF_TOKEN.",
                **values,
            )
        case _ if status == 403:
            template = "Your access token isn't allowed to read {repo}. See {page} for what its owner requires."
            return UserError("token_without_access", template, **values)
        case _ if response is not None and status in TRANSIENT:
            return busy(response)
        case httpx2.ProxyError():
            template = "The proxy refused the connection to {endpoint} ({reason}). Check HTTPS_PROXY and NO_PROXY."
            return NoAnswer("proxy_refused", template, **values)
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            template = "“{endpoint}” isn't the address of a hub. Check HF_ENDPOINT; the default is https://huggingface.co."
            return NoAnswer("invalid_endpoint", template, **values)
        case httpx2.TransportError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
            template = "This system doesn't trust the certificate of {endpoint}. Install your proxy's, or set SSL_CERT_FILE."
            return NoAnswer("untrusted_certificate", template, **values)
        case httpx2.TransportError():
            template = "Can't reach {endpoint}. Check your network connection. Downloaded data is kept."
            return Unreachable("hub_unreachable", template, **values)
    template = "The hub's response for {repo} is invalid ({reason}). Try again later, or use another mirror."
    return UserError("invalid_hub_answer", template, **values)


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
            raise UserError(
                "no_commit", "The hub provides no commit for {repo}. Try another mirror, or try again later.", repo=repo
            )
        files = []
        for entry in info.siblings or ():
            name = entry.rfilename
            if not isinstance(name, str) or is_wanted(name) or climbs_out(name):
                size, digest = (entry.lfs.size, entry.lfs.sha256) if entry.lfs else (entry.size, entry.blob_id)
                files.append(check_file(repo, name, size, digest))
        if len({file.path for file in files}) < len(files):
            raise UserError(
                "file_listed_twice", "{repo} lists a file twice, so Slipstream won't download it. Choose another repo.", repo=repo
            )
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
                    template = "The hub refused the request for {file} of {repo} (status {status}). Try again later."
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


def stored_token(endpoint: str) -> str | None:
    """Return the keychain's token for a hub; None without a token or keychain."""
    try:
        import keyring  # slow to import, and needed only for repos that require a token

        return keyring.get_password(_SERVICE, _host(endpoint)) or None
    except Exception:  # backends raise anything; the hub's refusal is what the user needs to see
        return None


def store_token(endpoint: str, token: str) -> str:
    """Check a token with the hub, store it in the keychain, and return the account's name."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token or len(token) > 1000:
        raise UserError("invalid_token", "This isn't an access token. Create one at {endpoint}/settings/tokens.", endpoint=endpoint)
    try:
        account = HfApi(endpoint=endpoint).whoami(token=token, cache=False).get("name")
    except Exception as error:  # an invalid answer makes the hub's client fail anywhere
        if isinstance(error, errors.HfHubHTTPError) and error.response is not None and error.response.status_code in (401, 403):
            template = "{endpoint} doesn't know this token. Create a new one at {endpoint}/settings/tokens."
            raise UserError("unknown_token", template, endpoint=endpoint) from None
        raise explain(error, "", endpoint, True) from None
    import keyring

    try:
        keyring.set_password(_SERVICE, _host(endpoint), token)
    except Exception as error:
        template = "This system has no keychain for the token ({reason}). Run “hf auth login”, or set HF_TOKEN."
        raise UserError("no_keychain", template, reason=type(error).__name__) from None
    return str(account or "?")


def delete_token(endpoint: str) -> bool:
    """Remove a hub's token from the keychain; return whether there was one."""
    if stored_token(endpoint) is None:
        return False
    import keyring

    with suppress(Exception):
        keyring.delete_password(_SERVICE, _host(endpoint))
    return stored_token(endpoint) is None


def _host(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return parts.netloc.rpartition("@")[2] or endpoint
