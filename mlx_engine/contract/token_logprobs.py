"""Log-probabilities of a reply's tokens, as events report them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenLogprob:
    """A token and its natural log-probability.

    Attributes:
        text: UTF-8 bytes, which may be an incomplete character.
    """

    token: int
    text: bytes
    logprob: float


@dataclass(frozen=True)
class PositionLogprobs:
    """Log-probabilities of a reply's token and of the likeliest tokens in its place.

    They come from the target's own logits, before bias, penalties, temperature, and filters.

    Attributes:
        top: the most likely tokens, in descending order. The reply's token may be among them.
        hidden: whether the reply's token adds no text to the reply: an end token, a marker, or whitespace before the text.
    """

    chosen: TokenLogprob
    top: tuple[TokenLogprob, ...]
    hidden: bool = False
