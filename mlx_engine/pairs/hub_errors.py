"""What the hub's refusals mean, and what the user can do about them."""

from typing import Any

import httpx2
from huggingface_hub import errors

from mlx_engine.errors import EngineText, UserError


class NoAnswer(UserError):
    """The hub answers no questions at all: it is offline, out of reach, or rejects the token."""


class Unreachable(NoAnswer):
    """The hub didn't answer as expected, but may do so later. `after_s` is the wait that it asks for."""

    def __init__(self, code: str, template: str, after_s: float | None = None, **values: Any) -> None:
        super().__init__(code, template, **values)
        self.after_s = after_s


class RevisionGone(UserError):
    """The commit that a download was pinned to no longer exists."""


TRANSIENT = (408, 425, 429, 500, 502, 503, 504)  # status codes that may change with another try
_NEEDS_TOKEN = {"repo_gated", "repo_gated_for_account", "repo_not_found_or_private", "token_rejected"}


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
    template = "The hub is busy or out of order (status {status}). Try again in a few minutes."
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
                "repo_not_found", "There is no repo {repo} at {endpoint} that your token may read. Check the spelling.", **values
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
            template = "Your access token may not read {repo}. See {page} for what its owner requires."
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
    template = "The hub's answer about {repo} is invalid ({reason}). Try again later, or use another mirror."
    return UserError("invalid_hub_answer", template, **values)
