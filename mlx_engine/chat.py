"""Messages -> prompt tokens, and reply tokens -> text: thinking and answer told apart, stop strings found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.errors import UserError
from mlx_engine.events import Channel, Commit, GenerationRequest, Message, Source


def render(tokenizer: TokenizerWrapper, request: GenerationRequest) -> list[int]:
    """Prompt token ids of a request: raw ones as they are, messages through the target's chat template.

    Raises:
        UserError: neither or both are given, a message is empty, or the template refuses the chat.
    """
    if request.prompt_tokens is not None:
        if request.messages:
            raise UserError("Give either messages or prompt tokens, not both.")
        if not request.prompt_tokens:
            raise UserError("The prompt is empty. Give it at least one token.")
        return list(request.prompt_tokens)
    if not request.messages or not any(message.role == "user" for message in request.messages):
        raise UserError("There is nothing to answer: the chat has no message of yours. Write one first.")
    last = request.messages[-1]
    if last.role == "user" and not last.content.strip():
        raise UserError("The message is empty. Write something first.")
    tokens = template(tokenizer, request.messages, request.thinking, request.effort)
    if request.continue_from:
        tokens += tokenizer.encode(request.continue_from, add_special_tokens=False)
    return tokens


def template(
    tokenizer: TokenizerWrapper, messages: Sequence[Message], thinking: bool = False, effort: str | None = None
) -> list[int]:
    """Token ids of a chat up to the point where the reply begins."""
    if not tokenizer.has_chat_template:
        raise UserError("This target has no chat template, so it cannot chat. Pick an instruction-tuned one, or give raw tokens.")
    options = {"reasoning_effort": effort} if effort else {}
    try:
        return list(
            tokenizer.apply_chat_template(
                [{"role": message.role, "content": message.content} for message in messages],
                add_generation_prompt=True,
                enable_thinking=thinking,
                **options,
            )
        )
    except Exception as error:  # templates raise what they like, from inside Jinja
        if type(error).__module__.split(".")[0] != "jinja2":
            raise
        raise UserError(f"The target's chat template refuses this chat: {error}") from error


@dataclass
class _Piece:
    """Tokens of one channel since the last commit, and their text."""

    channel: Channel
    text: str
    tokens: list[int]
    sources: list[Source]


class ReplyText:
    """Turns a reply's tokens into commits.

    Args:
        tokenizer: of the target.
        prompt: whose end may have opened a thinking section already.
        stop: strings that end the answer; they are not shown.
    """

    def __init__(self, tokenizer: TokenizerWrapper, prompt: Sequence[int], stop: Sequence[str] = ()) -> None:
        self._detokenizer = tokenizer.detokenizer
        self._silent = set(tokenizer.eos_token_ids)
        self._opening = tuple(tokenizer.think_start_tokens or ())
        self._closing = tuple(tokenizer.think_end_tokens or ())
        self._stop = tuple(text for text in stop if text)
        self._recent: list[int] = []
        self._held = ""  # the end of the answer that may be the beginning of a stop string
        self._at_start = True  # nothing but white space in this channel yet
        self.stopped = False
        thinking = bool(self._opening) and _last(prompt, self._opening) > _last(prompt, self._closing)
        self.channel: Channel = "thinking" if thinking else "answer"

    def add(self, tokens: Sequence[int], sources: Sequence[Source]) -> Iterator[Commit]:
        """Commits for these tokens, at most one a channel and change of channel; sets `stopped` at a stop string."""
        piece = _Piece(self.channel, "", [], [])
        for token, source in zip(tokens, sources, strict=True):
            piece.tokens.append(token)
            piece.sources.append(source)
            if token in self._silent:
                continue
            self._recent = [*self._recent, token][-8:]
            if self._ends_with(self._opening if self.channel == "answer" else self._closing):
                piece.text += self._flush()
                yield self._commit(piece)
                self.channel = "thinking" if self.channel == "answer" else "answer"
                piece = _Piece(self.channel, "", [], [])
                continue
            self._detokenizer.add_token(token)
            piece.text += self._through(self._detokenizer.last_segment)
            if self.stopped:
                break
        if piece.tokens:
            yield self._commit(piece)

    def finish(self) -> Iterator[Commit]:
        """What was held back, once no more tokens come."""
        text = "" if self.stopped else self._flush()
        if text:
            yield Commit(text, self.channel, (), ())

    def _ends_with(self, marker: tuple[int, ...]) -> bool:
        return bool(marker) and tuple(self._recent[-len(marker) :]) == marker

    def _flush(self) -> str:
        self._detokenizer.finalize()
        text = self._through(self._detokenizer.last_segment) + self._held
        self._detokenizer.reset()
        self._held, self._at_start = "", True
        return text

    def _through(self, text: str) -> str:
        """What may be shown of the text so far: without leading white space, up to a stop string or what could become one."""
        if self._at_start:
            text = text.lstrip()
            self._at_start = not text
        if self.channel == "thinking" or not self._stop:
            return text
        text = self._held + text
        cuts = [at for stop in self._stop if (at := text.find(stop)) >= 0]
        if cuts:
            self.stopped, self._held = True, ""
            return text[: min(cuts)]
        hold = max(_overlap(text, stop) for stop in self._stop)
        self._held = text[len(text) - hold :]
        return text[: len(text) - hold]

    @staticmethod
    def _commit(piece: _Piece) -> Commit:
        return Commit(piece.text, piece.channel, tuple(piece.tokens), tuple(piece.sources))


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`, and not all of it."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:size])), 0)


def _last(tokens: Sequence[int], marker: tuple[int, ...]) -> int:
    """Index of the last place where `marker` stands in `tokens`, -1 if nowhere."""
    size = len(marker)
    return next((at for at in range(len(tokens) - size, -1, -1) if tuple(tokens[at : at + size]) == marker), -1)
