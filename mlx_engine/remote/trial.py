"""A trial of a connection before it is saved or used."""

import asyncio
from dataclasses import replace

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import RemoteConnection
from mlx_engine.remote.endpoint import client_of
from mlx_engine.remote.server import RemoteServer, discover


def try_connection(connection: RemoteConnection) -> RemoteServer:
    """Return the server of a connection. Blocks until both addresses have answered.

    Raises:
        UserError: a server can't be used, or the one for plain replies decodes with speculation.
    """
    unopened = client_of(connection)

    async def try_both() -> RemoteServer:
        async with unopened as client:
            server = await discover(client, connection)
            if connection.plain_url:
                second = replace(connection, url=connection.plain_url, model=server.model)
                if (await discover(client, second)).speculates:
                    template = "“{host}” uses speculative decoding too. Enter the address of a server without it."
                    raise UserError("remote_plain_speculates", template, host=second.host)
            return server

    return asyncio.run(try_both())
