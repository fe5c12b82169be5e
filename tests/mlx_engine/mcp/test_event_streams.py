"""Event streams of tool servers: any text is passed on, in any pieces, but no event with too many values."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.mcp import transports
from mlx_engine.mcp.transports import Link

_MOST = 6  # values of an event, in these tests
CUTS = st.lists(st.integers(0, 2000))
FIRST = st.sampled_from(["", ': "', 'event: "x'])  # lines of an event
ENDS = st.sampled_from(["\n\n", "\r\n\r\n", "\r\r"])
TEXTS = st.text(st.sampled_from('a,[]{}":\\\n'), max_size=40)


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def passed_on(body: bytes, cuts: Sequence[int]) -> bytes:
    """Return what is passed on of a body that comes in pieces."""
    ends = sorted({0, *(cut % (len(body) + 1) for cut in cuts), len(body)})
    pieces = _Pieces([body[start:end] for start, end in pairwise(ends)])
    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=pieces)

    async def read() -> bytes:
        return b"".join([part async for part in transports._BoundedStream(response, Link(), transports._Pace(), "made")])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transports, "_MOST_VALUES", _MOST)
        return asyncio.run(read())


@given(texts=st.lists(TEXTS, max_size=20), end=ENDS, cuts=CUTS, ended=st.booleans())
def test_texts_are_passed_on_whatever_they_contain(texts: list[str], end: str, cuts: list[int], ended: bool) -> None:
    body = end.join(f"event: message{end[: len(end) // 2]}data: {json.dumps([text])}" for text in texts) + end * ended
    assert passed_on(body.encode(), cuts) == body.encode()


@given(before=st.lists(TEXTS, max_size=5), first=FIRST, end=ENDS, cuts=CUTS)
def test_an_event_with_too_many_values_is_not_passed_on(before: list[str], first: str, end: str, cuts: list[int]) -> None:
    """A quote in another line doesn't hide its values."""
    events = [*(f"data: {json.dumps([text])}" for text in before), f"{first}{end[: len(end) // 2]}data: {json.dumps([0] * 20)}"]
    with pytest.raises(UserError, match="too large"):
        passed_on(end.join([*events, ""]).encode(), cuts)
