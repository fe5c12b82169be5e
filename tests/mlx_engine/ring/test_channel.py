"""Connections between computers: slow ones last, and silent ones end."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mlx_engine.network.channel import Channel, listen
from mlx_engine.network.frames import HEAD, ChannelClosed

HOST = "127.0.0.1"
LARGE = "x" * 15_000_000  # more than the system's buffers
LIMIT_S, PIECES = 2.0, 8


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """Both ends of a connection."""
    with listen(HOST, 0) as server:
        near = Channel.connected(HOST, server.getsockname()[1], 30)
        far = Channel.accepted(server)
    assert far is not None
    for channel in (near, far):
        channel.trust()
    yield near, far
    for channel in (near, far):
        channel.close()


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_slow_message_arrives_if_its_sender_is_trusted(ends: tuple[Channel, Channel], is_trusted: bool) -> None:
    """The limit is for silence. That of a stranger is for the whole message."""
    near, far = ends
    far._is_trusted = is_trusted
    data = json.dumps("x" * PIECES).encode()
    sent = HEAD.pack(len(data)) + data

    def send() -> None:
        for at in range(len(sent)):
            time.sleep(2 * LIMIT_S / len(sent))
            near._socket.send(sent[at : at + 1])

    thread = threading.Thread(target=send)
    thread.start()
    if is_trusted:
        assert far.receive(LIMIT_S) == "x" * PIECES
    else:
        with pytest.raises(ChannelClosed, match="silent"):
            far.receive(LIMIT_S)
    thread.join()


def test_a_message_that_was_cut_off_is_the_last_one(ends: tuple[Channel, Channel]) -> None:
    near, far = ends
    with pytest.raises(ChannelClosed, match="silent"):
        near.send(LARGE, 0.1)
    with pytest.raises(ChannelClosed, match="ended"):
        near.send("the next one")
    with pytest.raises(ChannelClosed, match="ended"):
        far.receive(30)


def test_a_sign_of_life_does_not_wait_for_a_slow_computer(ends: tuple[Channel, Channel]) -> None:
    near, far = ends
    sending = threading.Thread(target=near.send, args=(LARGE,))
    sending.start()
    while not near._sending.locked():
        pass
    near.show_life()
    assert sending.is_alive(), "it didn't wait"
    assert far.receive(30) == LARGE
    sending.join()
    near.show_life()
    assert far.receive(30) == ["alive"]


def test_a_sign_of_life_does_not_wait_for_full_buffers(ends: tuple[Channel, Channel]) -> None:
    near, far = ends
    filled = 0
    try:
        while True:
            filled += near._socket.send(b"x" * 65536)
    except BlockingIOError:
        near.show_life()
    received: Any = b""
    while len(received) < filled:
        received += far._socket.recv(1 << 20)
    assert received.count(b"x") == filled, "nothing was added"
