"""Texts of single tokens, and log-probabilities with them."""

from functools import cache

from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, SPMStreamingDetokenizer, TokenizerWrapper
from transformers.convert_slow_tokenizer import bytes_to_unicode

from mlx_engine.contract.token_logprobs import PositionLogprobs, TokenLogprob
from mlx_engine.formats.logprobs import RowLogprobs


class TokenTexts:
    """The text of each token of a tokenizer."""

    def __init__(self, tokenizer: TokenizerWrapper) -> None:
        self._tokenizer, self._detokenizer = tokenizer, tokenizer.detokenizer

    def text(self, token: int) -> bytes:
        """Return a token's UTF-8 bytes, which may be an incomplete character.

        If mlx-lm doesn't know the tokenizer's format, an incomplete character becomes a replacement character.
        """
        if token >= len(self._tokenizer):  # a model's table may be padded
            return b""
        if isinstance(self._detokenizer, SPMStreamingDetokenizer):
            return self._detokenizer.tokenmap[token].replace("▁".encode(), b" ")
        if isinstance(self._detokenizer, BPEStreamingDetokenizer):
            return b"".join(_byte_of().get(character, character.encode()) for character in self._detokenizer.tokenmap[token])
        return self._tokenizer.decode([token]).encode()

    def logprobs(self, token: int, row: RowLogprobs, hidden: bool) -> PositionLogprobs:
        """Return the log-probabilities at a position of the reply, with the tokens' texts."""
        chosen, *top = (TokenLogprob(each, self.text(each), value) for each, value in ((token, row.chosen), *row.top))
        return PositionLogprobs(chosen, tuple(top), hidden)


@cache
def _byte_of() -> dict[str, bytes]:
    """Return the byte that each character of a byte-level token stands for."""
    return {character: bytes([byte]) for byte, character in bytes_to_unicode().items()}
