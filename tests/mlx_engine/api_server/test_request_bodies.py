"""Bodies and headers of requests that are malformed or too large, with a scripted engine."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.api_server import body, listener
from mlx_engine.api_server.chat_completions import ChatFields
from tests.mlx_engine.api_server.serving import Serving, refused

PATH = "/v1/chat/completions"
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}


class TestBodies:
    @pytest.mark.parametrize(
        "content",
        [
            *(
                b"",
                b"{",
                b"[]",
                b"null",
                b"7",
                b'"x"',
                b"\xff",
                b"\xef\xbb\xbf{}",
                b"\xef\xbb\xbf\xef\xbb\xbf{}",
                b'{"messages": NaN}',
                b"{'a': 1}",
                b"{}",
            ),
            *(b'{"messages": [{"role": "user", "content": "\\ud800"}]}', b'{"messages": 1' + b"0" * 5000 + b"}"),
            *(b'{"\\udfff": 1}', b"[" * 100_000, b'{"a":' * 100_000, b'{"messages":' + b"[" * 65 + b"]" * 65 + b"}"),
        ],
    )
    def test_what_is_not_a_request_is_refused(self, server: Serving, content: bytes) -> None:
        refused(server.client.post(PATH, content=content))

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b'{\n "messages": oops}', "Correct line 2, column 14."),
            (gzip.compress(b"{}"), "It isn't text in UTF-8."),
            ("{}".encode("utf-16"), "It isn't text in UTF-8."),
            (b'{"user": "\\ud83d"}', "“\\ud83d” is half of a surrogate pair, without the other half."),
            (b'{"user": "\\ude00\\ud83d"}', "“\\ude00” is half of a surrogate pair, without the other half."),
            (b'{"seed": 1%s}' % (b"0" * 4300), "A number has too many digits."),
            (b'{"top_p": 1e%s}' % (b"9" * 30), "A number has too many digits."),
            (b'{"top_p": -Infinity}', "“-Infinity” isn't a number in JSON."),
        ],
        ids=range(8),
    )
    def test_invalid_json_is_refused_with_its_reason(self, server: Serving, content: bytes, reason: str) -> None:
        error = refused(server.client.post(PATH, content=content))
        assert (error["message"], error["code"]) == (f"The body isn't valid JSON. {reason}", "invalid_json")

    def test_an_encoded_body_is_refused_by_its_encoding(self, server: Serving) -> None:
        for name, content in (("gzip", gzip.compress(json.dumps(HI).encode())), ("br", b"{}"), ("Deflate", b"x" * 100_000)):
            error = refused(server.client.post(PATH, content=content, headers={"content-encoding": name}), 415)
            assert error["code"] == "body_encoded" and f"“{name.lower()}”" in error["message"]
        assert server.client.post(PATH, json=HI, headers={"content-encoding": "identity"}).status_code == 200

    @given(content=st.binary(max_size=200))
    def test_arbitrary_bytes_are_refused(self, server: Serving, content: bytes) -> None:
        refused(server.client.post(PATH, content=content))

    @given(
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(
                    st.sampled_from([*ChatFields.model_fields, *ChatFields.refused, "role", "content"]), inner, max_size=4
                )
            ),
            max_leaves=12,
        ),
        field=st.sampled_from([*ChatFields.model_fields, *ChatFields.refused]),
    )
    def test_any_json_is_answered_or_refused(self, server: Serving, value: Any, field: str) -> None:
        response = server.client.post(PATH, content=json.dumps(HI | {field: value}))
        assert response.status_code == 200 or refused(response, response.status_code)
        assert response.status_code in (200, 400, 404)

    def test_a_body_beyond_the_limit_is_refused(self, server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(body, "MAX_REQUEST_BYTES", 1000)
        long = b" " * 2000
        error = refused(server.client.post(PATH, content=long), 413)
        assert error["code"] == "body_too_large" and "smaller images and PDFs" in error["message"]
        assert refused(server.client.post(PATH, content=iter([long[:600], long[:600]])), 413)["code"] == "body_too_large"

    def test_a_client_that_reads_after_it_has_written_gets_the_refusal(self, server: Serving) -> None:
        size = body.MAX_REQUEST_BYTES + 1
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
        assert server.raw(head.encode() + b" " * size).startswith(b"HTTP/1.1 413")

    @pytest.mark.parametrize("item", [b"1", b"[]", b"{}", b'{"role": "user", "content": []}'])
    def test_a_body_of_very_many_values_is_refused(self, server: Serving, item: bytes) -> None:
        content = b'{"messages": [' + b",".join([item] * 60_000) + b"]}"
        assert refused(server.client.post(PATH, content=content))["code"] == "json_too_large"
        names = ",".join(f'"{number}": 0' for number in range(60_000))
        assert refused(server.client.post(PATH, content=f"{{{names}}}"))["code"] == "json_too_large"

    def test_a_prompt_of_very_many_tokens_is_read(self, server: Serving) -> None:
        assert server.post("/v1/completions", prompt=[1] * 60_000).status_code == 200

    def test_a_slow_body_is_refused(self, server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(body, "READ_S", 0.05)
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{{"
        assert server.raw(head.encode()).startswith(b"HTTP/1.1 408")

    def test_slow_headers_close_the_connection(self, server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "HEADERS_S", 0.05)
        assert server.raw(b"") == b""
        assert server.raw(b"GET /health HTTP/1.1\r\nHost: local") == b""
        answered = server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HT")
        assert answered.count(b"HTTP/1.1 200") == 1

    @pytest.mark.parametrize(
        "data",
        [
            *(b"\0" * 100 + b"\r\n\r\n", b"nonsense\r\n\r\n", b"GET /health HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"),
            b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        ],
    )
    def test_what_is_not_http_is_refused(self, server: Serving, data: bytes) -> None:
        assert server.raw(data).startswith(b"HTTP/1.1 400")
        assert server.client.get("/health").status_code == 200
