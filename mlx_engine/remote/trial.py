"""A trial of an endpoint before it is saved or used."""

import asyncio
from dataclasses import replace

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.remote.endpoint import client_of
from mlx_engine.remote.server import RemoteServer, discover


def try_endpoint(endpoint: Endpoint) -> RemoteServer:
    """Return the server of an endpoint. Blocks until both addresses have answered.

    Raises:
        UserError: a server can't be used, or the one for plain replies decodes with speculation.
    """
    unopened = client_of(endpoint)

    async def try_both() -> RemoteServer:
        async with unopened as client:
            server = await discover(client, endpoint)
            if endpoint.plain_url:
                second = replace(endpoint, url=endpoint.plain_url, model=server.model)
                if (await discover(client, second)).speculates:
                    template = "“{host}” uses speculative decoding too. Enter the address of a server without it."
                    raise UserError("remote_plain_speculates", template, host=second.host)
            return server

    return asyncio.run(try_both())
