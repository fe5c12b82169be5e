"""Columns of text in Parquet files.

Only what published sets use: flat columns of byte arrays, plain or with a dictionary, uncompressed or compressed with Snappy or
gzip.

Source: the format descriptions in apache/parquet-format, and Thrift's compact protocol.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from mlx_engine.prompt_sets import snappy
from mlx_engine.prompt_sets.snappy import read_varint

_MAGIC = b"PAR1"
_BYTE_ARRAY = 6
_OPTIONAL, _REPEATED = 1, 2
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # types of pages
_PLAIN, _OLD_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8  # encodings
_LARGEST_PAGE = 1 << 26  # bytes; writers aim for 1 MB
_MOST_VALUES = 1 << 22  # of a page; writers aim for 20,000
_DEEPEST = 16  # structs in structs; a footer has about five
_Struct = dict[int, Any]


class NotReadable(ValueError):
    """An error for a file that is damaged or has an unsupported part."""


def text_column(data: bytes, name: str) -> Iterator[str | None]:
    """Yield the values of a column, None for missing ones.

    Pages are decoded as they are needed.

    Raises:
        NotReadable: the column doesn't exist or can't be read.
    """
    try:
        yield from _values(data, name)
    except NotReadable:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, struct.error, zlib.error) as error:
        raise NotReadable(f"it is damaged ({error})") from None


def _values(data: bytes, name: str) -> Iterator[str | None]:
    if len(data) < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise NotReadable("it isn't a Parquet file")
    length = int.from_bytes(data[-8:-4], "little")
    footer = _Thrift(data, len(data) - 8 - length).read_struct()
    column = next((each for each in footer[2][1:] if each.get(4) == name.encode()), None)
    if column is None:
        raise NotReadable(f"it has no column “{name}”")
    if column.get(1) != _BYTE_ARRAY or column.get(3) == _REPEATED:
        raise NotReadable(f"its column “{name}” isn't text")
    for group in footer[4]:
        chunks = [each[3] for each in group[1] if each[3][3] == [name.encode()]]
        yield from _chunk(data, chunks[0], column.get(3) == _OPTIONAL)


def _chunk(data: bytes, chunk: _Struct, optional: bool) -> Iterator[str | None]:
    """Yield the values of a column in one row group."""
    decompress = _codec(chunk[4])
    left, at = chunk[5], min(chunk[9], chunk.get(11) or chunk[9])
    words: list[str] | None = None
    while left > 0:
        reader = _Thrift(data, at)
        page = reader.read_struct()
        kind, size = page[1], page[2]
        if not 0 <= size <= _LARGEST_PAGE or page[3] < 0:
            raise NotReadable("a page is too large")
        body, at = data[reader.at : reader.at + page[3]], reader.at + page[3]
        if kind == _DICTIONARY:
            if words is not None or not 0 <= page[7][1] <= _MOST_VALUES:
                raise NotReadable("a column has too many words")
            words = list(islice(_plain(decompress(body, size)), page[7][1]))
        elif kind in (_DATA, _DATA_2):
            about = page[5] if kind == _DATA else page[8]
            count = about[1]
            if not 0 < count <= min(left, _MOST_VALUES):
                raise NotReadable("a page has too many values")
            left -= count
            given, body, encoding = (_parts if kind == _DATA else _parts_2)(body, size, about, optional, decompress)
            yield from _page(body, encoding, words or [], given or [1] * count, count)


def _parts(
    body: bytes, size: int, about: _Struct, optional: bool, decompress: Callable[[bytes, int], bytes]
) -> tuple[list[int], bytes, int]:
    """Return a page's definition levels, its values, and their encoding.

    Without levels, all values are given.
    """
    body = decompress(body, size)
    if not optional:
        return [], body, about[2]
    length = int.from_bytes(body[:4], "little")
    return numbers_in(body[4 : 4 + length], 1, about[1]), body[4 + length :], about[2]


def _parts_2(
    body: bytes, size: int, about: _Struct, optional: bool, decompress: Callable[[bytes, int], bytes]
) -> tuple[list[int], bytes, int]:
    """Like `_parts`, for the second version of pages, whose levels aren't compressed."""
    levels, repeats = about[5], about[6]
    given = numbers_in(body[repeats : repeats + levels], 1, about[1]) if optional else []
    body = body[repeats + levels :]
    return given, decompress(body, size - repeats - levels) if about.get(7, True) else body, about[4]


def _page(body: bytes, encoding: int, words: list[str], given: list[int], count: int) -> Iterator[str | None]:
    if encoding == _PLAIN:
        values = _plain(body)
    elif encoding in (_OLD_DICTIONARY, _RLE_DICTIONARY):
        values = (words[index] for index in numbers_in(body[1:], body[0] if body else 0, sum(given)))
    else:
        raise NotReadable(f"encoding {encoding} isn't supported")
    for level in given[:count]:
        yield next(values) if level else None


def _plain(body: bytes) -> Iterator[str]:
    at = 0
    while True:
        length = int.from_bytes(body[at : at + 4], "little")
        if at + 4 + length > len(body) or len(body) < at + 4:
            raise NotReadable("a page ends within a value")
        yield body[at + 4 : at + 4 + length].decode("utf-8")
        at += 4 + length


def numbers_in(body: bytes, width: int, count: int) -> list[int]:
    """Return numbers of `width` bits that are packed or repeated in runs."""
    if width > 32:
        raise NotReadable("a number has too many bits")
    found: list[int] = []
    at, wide, mask = 0, (width + 7) // 8, (1 << width) - 1
    shifts = range(0, 8 * width, width) if width else (0,) * 8
    while len(found) < count:
        header, at = read_varint(body, at)
        left = count - len(found)
        if header & 1:
            groups = min(header >> 1, (left + 7) // 8)  # of 8 numbers, which fill `width` bytes
            for start in range(at, at + groups * width, width) if width else (at,) * groups:
                packed = int.from_bytes(body[start : start + width], "little")
                found += [packed >> shift & mask for shift in shifts]
            at += (header >> 1) * width
        else:
            found += [int.from_bytes(body[at : at + wide], "little")] * min(header >> 1, left)
            at += wide
        if at > len(body) or header < 2:
            raise NotReadable("a run of numbers is cut off")
    return found[:count]


def _codec(number: int) -> Callable[[bytes, int], bytes]:
    if number == 0:
        return lambda body, size: body
    if number == 1:
        return snappy.decompress
    if number == 2:
        return lambda body, size: zlib.decompressobj(wbits=31).decompress(body, size or 1)
    raise NotReadable(f"compression {number} isn't supported")


class _Thrift:
    """A reader of structs in Thrift's compact protocol, as dicts by field number."""

    def __init__(self, data: bytes, at: int) -> None:
        if at < 0:
            raise NotReadable("its footer is cut off")
        self._data, self.at, self._depth = data, at, 0

    def read_struct(self) -> _Struct:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotReadable("its footer is nested too deeply")
        found: _Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        self._depth -= 1
        return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):  # in lists, a Boolean is a byte
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            self.at += 8
            return struct.unpack("<d", self._data[self.at - 8 : self.at])[0]
        if kind == 8:
            size = self._varint()
            self.at += size
            return self._data[self.at - size : self.at]
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data) - self.at:
                raise NotReadable("a list is longer than the file")
            return [self._value(head & 15) for _ in range(count)]
        if kind == 12:
            return self.read_struct()
        raise NotReadable(f"type {kind} isn't supported")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value, self.at = read_varint(self._data, self.at)
        return value

    def _signed(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
