"""Decompression of raw Snappy data, which most Parquet files use.

Source: the format description in google/snappy.
"""


def decompress(data: bytes, size: int) -> bytes:
    """Return the text of raw Snappy data.

    Args:
        size: bytes that it must have.

    Raises:
        ValueError, IndexError: the data is damaged.
    """
    length, at = read_varint(data, 0)
    if length != size:
        raise ValueError("a compressed block has another length than its page")
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        if tag & 3 == 0:
            count = (tag >> 2) + 1
            if count > 60:  # the length follows in 1 to 4 bytes
                extra = count - 60
                count, at = int.from_bytes(data[at : at + extra], "little") + 1, at + extra
            out += data[at : at + count]
            at += count
        else:
            if tag & 3 == 1:
                count, offset, at = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at], at + 1
            else:
                wide = 2 if tag & 3 == 2 else 4
                count, offset, at = (tag >> 2) + 1, int.from_bytes(data[at : at + wide], "little"), at + wide
            if not 0 < offset <= len(out):
                raise ValueError("a copy starts outside the data")
            start = len(out) - offset
            piece = out[start : start + count]
            out += (piece * (count // len(piece) + 1))[:count]  # a copy may overlap its own end
        if len(out) > size:
            break
    if len(out) != size:
        raise ValueError("a compressed block is too short or too long")
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number of at most 64 bits, and where it ends."""
    value = shift = 0
    while shift < 64:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("a number is too long")
