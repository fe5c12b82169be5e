"""What a hub's refusal means, in sentences: what to accept and where, what to try."""

import httpx2
from huggingface_hub import errors

from mlx_engine.errors import UserError


class NoAnswer(UserError):
    """The hub said nothing of this repo, nor would it of another: it is not asked, not reached, or does not know the token."""


class Unreachable(NoAnswer):
    """The hub did not answer, or not with what was asked for. It may do so later: worth another try."""

    def __init__(self, words: str, after_s: float | None = None) -> None:
        super().__init__(words)
        self.after_s = after_s  # the hub's own wish

    @property
    def fact(self) -> str:
        """The first sentence alone, without the advice: for whoever goes on trying."""
        return str(self).split(". ")[0].removesuffix(".") + "."


class RevisionGone(UserError):
    """The commit that a download was pinned to is no longer there."""


PASSING = (408, 425, 429, 500, 502, 503, 504)  # status codes that another try may not meet

_LOG_IN = "“slipstream models login” keeps one in the system's keychain; “hf auth login” or HF_TOKEN do as well"


def wants_token(error: Exception) -> bool:
    """Whether the hub refused what an account, or another account, might get."""
    if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError):
        return True
    return isinstance(error, errors.HfHubHTTPError) and error.response is not None and error.response.status_code in (401, 403)


def advises_a_token(sentence: str) -> bool:
    """Whether a sentence of `explained` advises to give a token."""
    return _LOG_IN in sentence or "/settings/tokens" in sentence


def explained(error: Exception, repo: str, endpoint: str, has_token: bool) -> UserError:
    """The sentence for what the hub's client raised about `repo`."""
    page = f"{endpoint}/{repo}"
    status, headers = 0, httpx2.Headers()
    if isinstance(error, errors.HfHubHTTPError) and error.response is not None:
        status, headers = error.response.status_code, error.response.headers
    match error:
        case errors.OfflineModeIsEnabled():
            return NoAnswer("HF_HUB_OFFLINE is set, so the model hub is not asked. Unset it and try again.")
        case errors.GatedRepoError() if has_token:
            return UserError(
                f"{repo} is gated, and the account you are logged in with has no access yet. Open {page} with that account, "
                f"accept the conditions there (some owners then decide by hand), and try again. If you have access, the token may "
                f"not read gated repos: see {endpoint}/settings/tokens."
            )
        case errors.GatedRepoError():
            return UserError(
                f"{repo} is gated: its owner wants conditions accepted first. Open {page}, log in, accept them there, then give "
                f"Slipstream a token of that account: {_LOG_IN}."
            )
        case errors.RevisionNotFoundError():
            return RevisionGone(f"{repo} no longer has that revision. Start the download again to take the current one.")
        case errors.RemoteEntryNotFoundError():
            return RevisionGone(f"A file that {repo} listed is not there. The repo was changed; start the download again.")
        case errors.DisabledRepoError():
            return UserError(f"{repo} was disabled on the hub. Pick another pair.")
        case errors.RepositoryNotFoundError():
            token = "your token may read it" if has_token else f"you are logged in, if it is private: {_LOG_IN}"
            return UserError(f"There is no repo {repo} at {endpoint}. Check the spelling, and that {token}.")
        case _ if status == 401:
            return NoAnswer(
                f"The hub does not accept your token. Make a new one at {endpoint}/settings/tokens and give Slipstream that one: "
                f"{_LOG_IN}."
            )
        case _ if status == 403:
            return UserError(f"Your token may not read {repo}. See on {page} what its owner asks for, or use another token.")
        case _ if status in PASSING:
            words = f"The hub is busy or out of order (status {status}). Try again in a few minutes."
            return Unreachable(words, wish(headers))
        case httpx2.ProxyError():
            return NoAnswer(f"The proxy refused the connection to {endpoint} ({error}). Check HTTPS_PROXY and NO_PROXY.")
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return NoAnswer(f"“{endpoint}” is no address of a hub. Check HF_ENDPOINT; the usual one is https://huggingface.co.")
        case httpx2.TransportError():
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return NoAnswer(
                    f"This system does not trust the certificate of {endpoint}. Behind a company's proxy, its certificate "
                    "has to be installed in the system, or named by SSL_CERT_FILE."
                )
            return Unreachable(f"{endpoint} cannot be reached. Check the network; what is already here is kept.")
        case _:
            words = f"The hub's answer about {repo} makes no sense ({first_line(error)})."
            return UserError(f"{words} Try again later, or another mirror.")


def wish(headers: httpx2.Headers) -> float | None:
    """Seconds that a Retry-After asks for; the form with a date is left aside."""
    try:
        return min(float(headers.get("Retry-After", "")), 300.0)
    except ValueError:
        return None


def first_line(error: Exception) -> str:
    """The first line of an error's text, at most 200 characters."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
