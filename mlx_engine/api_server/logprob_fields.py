"""Logit bias and log-probabilities in OpenAI's shapes."""

import codecs
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from mlx_engine.api_server.body import Chunk
from mlx_engine.contract.token_logprobs import PositionLogprobs, TokenLogprob

_LEAST = -9999.0  # OpenAI's value for an impossible token; also in place of NaN, which JSON lacks


def _by_number(biases: dict[str, float]) -> dict[str, float]:
    if not all(token.isascii() and token.isdigit() and len(token) < 10 for token in biases):
        raise ValueError("use token IDs as names")
    return biases


LogitBias = Annotated[dict[str, Annotated[float, Field(ge=-100, le=100)]], AfterValidator(_by_number)]


def bias_of(biases: dict[str, float] | None) -> tuple[tuple[int, float], ...]:
    """Return a `LogitBias` in the engine's format."""
    return tuple((int(token), bias) for token, bias in (biases or {}).items())


def of_chat(found: Iterable[PositionLogprobs]) -> Chunk:
    """Return the `logprobs` of tokens in a chat completion."""
    content = [_token(each.chosen) | {"top_logprobs": [_token(one) for one in each.top]} for each in found if not each.hidden]
    return {"content": content, "refusal": None}


def _token(found: TokenLogprob) -> Chunk:
    return {"token": found.text.decode(errors="replace"), "logprob": max(_LEAST, found.logprob), "bytes": list(found.text)}


class CompletionLogprobs:
    """A converter of a completion's tokens, in order, to OpenAI's `logprobs`."""

    def __init__(self) -> None:
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._length = 0

    def of(self, found: Sequence[PositionLogprobs]) -> Chunk:
        """Return the `logprobs` of the next tokens."""
        shown = [each for each in found if not each.hidden]
        return {
            "tokens": [_name(each.chosen) for each in shown],
            "token_logprobs": [max(_LEAST, each.chosen.logprob) for each in shown],
            "top_logprobs": [{_name(one): max(_LEAST, one.logprob) for one in (*each.top, each.chosen)} for each in shown],
            "text_offset": [self._offset(each.chosen.text) for each in shown],
        }

    def _offset(self, token: bytes) -> int:
        """Return where a token's text begins."""
        at = self._length
        self._length += len(self._characters.decode(token))
        return at


def _name(found: TokenLogprob) -> str:
    """Return a token's text, or its bytes if it is an incomplete character."""
    try:
        return found.text.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in found.text)
