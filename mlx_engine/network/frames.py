"""Messages between processes: a length, then JSON.

Nothing that arrives is ever run.
"""

import json
import struct
from typing import IO, Any

HEAD = struct.Struct(">I")
MOST_BYTES = 16 << 20
MOST_STRANGER_BYTES = 4 << 10  # of those who haven't proved who they are


class ChannelClosed(Exception):
    """The other side is gone, is silent for too long, or sends something else."""


def packed(message: Any) -> bytes:
    """Return a message as a frame."""
    data = json.dumps(message, separators=(",", ":")).encode()
    return HEAD.pack(len(data)) + data


def write_frame(file: IO[bytes], message: Any) -> None:
    """Write a message to a pipe."""
    file.write(packed(message))
    file.flush()


def read_frame(file: IO[bytes]) -> Any:
    """Return the next message of a pipe.

    Raises:
        ChannelClosed: the pipe has ended.
    """
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise ChannelClosed("ended")
    return unpacked(file.read(frame_length(head)))


def unpacked(data: bytes) -> Any:
    """Return the message of a frame.

    Raises:
        ChannelClosed: it isn't JSON, or nested too deeply.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ChannelClosed("ended") from None


def frame_length(head: bytes | bytearray, most: int = MOST_BYTES) -> int:
    length: int = HEAD.unpack(head)[0]
    if length > most:
        raise ChannelClosed("large")
    return length
