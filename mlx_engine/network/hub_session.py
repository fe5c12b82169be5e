"""The sessions of the hub's client, for all libraries that use it.

They send no ID with each request, unlike the client's own.
"""

from functools import cache

import httpx2
from huggingface_hub import constants, errors, get_session, set_async_client_factory, set_client_factory

from mlx_engine.network import traffic

__all__ = ["check_hub_use", "get_session", "hub_client", "install"]


@cache
def install() -> None:
    """Make these sessions those of all libraries in this process.

    Only the first call does, because setting the factory closes the session that is in use.
    """
    set_client_factory(hub_client)
    set_async_client_factory(async_hub_client)


def hub_client() -> httpx2.Client:
    return traffic.client("hub", event_hooks={"request": [check_hub_use]}, follow_redirects=True, timeout=None)


def async_hub_client() -> httpx2.AsyncClient:
    return traffic.async_client("hub", event_hooks={"request": [_check_async]}, follow_redirects=True, timeout=None)


def check_hub_use(request: httpx2.Request) -> None:
    """Refuse a request while HF_HUB_OFFLINE is set."""
    if constants.is_offline_mode():
        raise errors.OfflineModeIsEnabled(f"HF_HUB_OFFLINE is set, so {request.url.host} can't be reached.")


async def _check_async(request: httpx2.Request) -> None:
    check_hub_use(request)
