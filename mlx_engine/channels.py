"""Which channel a reply's tokens belong to, thinking or answer, as the target's own markers tell.

Two ways of marking are in use. A *pair* of markers opens and closes the thinking: `<think>` and `</think>`, for Gemma 4
`<|channel>thought` and `<channel|>`. Or a reply is a row of *headed messages*: `<|start|>`, a header, `<|message|>`, the text, and
`<|end|>`; the header names a channel (`<|channel|>analysis`, gpt-oss) or a reader (`to=self`, Muse), and what is not meant for the
user is thinking.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.events import Channel

Marker = tuple[int, ...]
State = Literal["answer", "thinking", "header"]

# Pairs that mlx-lm's list lacks.
_PAIRS = (("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<seed:think>", "</seed:think>"))
_HEADERS = ("<|start|>", "<|channel|>")
_TEXT = "<|message|>"
_ENDS = ("<|end|>", "<|eom|>", "<|eot|>", "<|return|>", "<|call|>")


@dataclass(frozen=True)
class Markers:
    """The markers of one target.

    `after` has the token sequences that end each state, and the state that follows; `to` the text that leads into a channel, and
    `between` what must come before it when a message is open. `closing` is the marker that ends the thinking, where there is one.
    """

    after: dict[State, dict[Marker, State]]
    to: dict[Channel, str]
    between: str = ""
    closing: Marker = ()
    headed: bool = False


def markers_of(tokenizer: TokenizerWrapper) -> Markers | None:
    """The markers that a target's tokenizer has, None if its replies are all answer."""
    if _id(tokenizer, _TEXT) is not None and _id(tokenizer, _HEADERS[0]) is not None:
        return _headed(tokenizer)
    opening, closing = tokenizer.think_start, tokenizer.think_end
    marks = tuple(tokenizer.think_start_tokens or ()), tuple(tokenizer.think_end_tokens or ())
    for pair in _PAIRS if not all(marks) else ():
        first, last = _id(tokenizer, pair[0]), _id(tokenizer, pair[1])
        if first is not None and last is not None:
            (opening, closing), marks = pair, ((first,), (last,))
    if not all(marks):
        return None
    return Markers(
        after={"answer": {marks[0]: "thinking"}, "thinking": {marks[1]: "answer"}, "header": {}},
        to={"thinking": f"{opening}\n", "answer": f"\n{closing}\n\n"},
        closing=marks[1],
    )


def _id(tokenizer: TokenizerWrapper, text: str) -> int | None:
    """The token that a text is on its own, None if it is none."""
    found = tokenizer.convert_tokens_to_ids(text)
    return found if isinstance(found, int) and tokenizer.convert_ids_to_tokens(found) == text else None


def _headed(tokenizer: TokenizerWrapper) -> Markers:
    ids = {text: found for text in (*_HEADERS, _TEXT, *_ENDS) if (found := _id(tokenizer, text)) is not None}
    begins: dict[Marker, State] = {(found,): "header" for text, found in ids.items() if text != _TEXT}
    named = _HEADERS[1] in ids
    return Markers(
        # `<|message|>` leads to what the header says; see `Channels`
        after={"answer": begins, "thinking": begins, "header": {(ids[_TEXT],): "answer"}},
        to={
            "thinking": f"<|channel|>analysis{_TEXT}" if named else f" to=self{_TEXT}",
            "answer": f"<|channel|>final{_TEXT}" if named else f" to=user{_TEXT}",
        },
        between=f"{next((text for text in _ENDS if text in ids), '')}{_HEADERS[0]}assistant",
        headed=True,
    )


class Channels:
    """Follows a reply token by token.

    Args:
        tokenizer: whose decoding reads a header.
        markers: None for a target without any.
    """

    def __init__(self, tokenizer: TokenizerWrapper, markers: Markers | None) -> None:
        self._tokenizer, self._markers = tokenizer, markers
        self._pending: list[int] = []  # may be the beginning of a marker
        self._header: list[int] = []
        self.state: State = "answer"

    def take(self, token: int, fresh: bool = False) -> tuple[list[int], bool]:
        """Take one token.

        Args:
            token: of the reply.
            fresh: nothing has been shown of the present section yet, so a marker that closes what is not open is none of its text.

        Returns:
            Tokens that turned out to be text of the present section, and whether it ended there.
        """
        if self._markers is None:
            return [token], False
        self._pending.append(token)
        ends, text = self._markers.after[self.state], list[int]()
        while self._pending:
            pending = tuple(self._pending)
            if pending in ends:
                self._pending.clear()
                text = self._kept(text)
                self._turn(ends[pending])
                return text, True
            stray = self._markers.closing if fresh and not text and self.state == "answer" else ()
            if stray and pending == stray:
                self._pending.clear()
                break
            if any(marker[: len(pending)] == pending for marker in (*ends, stray)):
                break
            text.append(self._pending.pop(0))
        return self._kept(text), False

    @property
    def held(self) -> int:
        """How many of the last tokens may be the beginning of a marker."""
        return len(self._pending)

    def rest(self) -> list[int]:
        """Tokens held back for a marker that did not come, once no more do: they were text."""
        text, self._pending = self._kept(self._pending), []
        return text

    def _kept(self, text: list[int]) -> list[int]:
        """Text of a section; that of a header is only read."""
        if self.state != "header":
            return text
        self._header += text
        return []

    def _turn(self, state: State) -> None:
        if self.state == "header" and state != "header":
            header = self._tokenizer.decode(self._header)
            for name in ("to=user", "to=commentary"):
                header = header.replace(name, "")
            state = "thinking" if "analysis" in header or "to=" in header else "answer"
        self.state, self._header = state, []


def leading_to(tokenizer: TokenizerWrapper, markers: Markers | None, opening: Sequence[int], channel: Channel) -> list[int]:
    """Tokens that bring a reply, which has begun with `opening`, into a channel."""
    followed = Channels(tokenizer, markers)
    for token in opening:
        followed.take(token)
    if markers is None or followed.state == channel:
        return []
    between = "" if followed.state == "header" else markers.between
    return list(tokenizer.encode(between + markers.to[channel], add_special_tokens=False))
