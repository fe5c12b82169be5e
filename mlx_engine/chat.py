"""Messages -> prompt tokens, and reply tokens -> text: thinking and answer told apart, stop strings found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.errors import UserError
from mlx_engine.events import Channel, Commit, GenerationRequest, Message, Source


@dataclass(frozen=True)
class Prompt:
    """Prompt token ids. `opening` are those at the end that belong to the reply already; `begun`, of these, its unfinished text."""

    tokens: list[int]
    opening: list[int]
    begun: list[int]


def render(tokenizer: TokenizerWrapper, request: GenerationRequest) -> Prompt:
    """The prompt of a request: raw token ids as they are, messages through the target's chat template.

    Raises:
        UserError: neither or both are given, a message is empty, or the template refuses the chat.
    """
    if request.prompt_tokens is not None:
        if request.messages:
            raise UserError("Give either messages or prompt tokens, not both.")
        if not request.prompt_tokens:
            raise UserError("The prompt is empty. Give it at least one token.")
        return Prompt(list(request.prompt_tokens), [], [])
    if not request.messages or not any(message.role == "user" for message in request.messages):
        raise UserError("There is nothing to answer: the chat has no message of yours. Write one first.")
    last = request.messages[-1]
    if last.role == "user" and not last.content.strip():
        raise UserError("The message is empty. Write something first.")
    tokens = template(tokenizer, request.messages, request.thinking, request.effort)
    asked = template(tokenizer, request.messages, request.thinking, request.effort, reply=False)
    shared = next((at for at, (a, b) in enumerate(zip(tokens, asked, strict=False)) if a != b), min(len(tokens), len(asked)))
    begun = tokenizer.encode(request.continue_from, add_special_tokens=False) if request.continue_from else []
    return Prompt(tokens + begun, tokens[shared:] + begun, begun)


def template(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    reply: bool = True,
) -> list[int]:
    """Token ids of a chat, with `reply` up to the point where the reply begins."""
    if not tokenizer.has_chat_template:
        raise UserError("This target has no chat template, so it cannot chat. Pick an instruction-tuned one, or give raw tokens.")
    options = {"reasoning_effort": effort} if effort else {}
    try:
        return list(
            tokenizer.apply_chat_template(
                [{"role": message.role, "content": message.content} for message in messages],
                add_generation_prompt=reply,
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
        prompt: whose opening may have begun the reply, in its thinking or its answer.
        stop: strings that end the answer; they are not shown.
    """

    def __init__(self, tokenizer: TokenizerWrapper, prompt: Prompt, stop: Sequence[str] = ()) -> None:
        self._detokenizer = tokenizer.detokenizer
        self._silent = set(tokenizer.eos_token_ids)
        self._opening = tuple(tokenizer.think_start_tokens or ())
        self._closing = tuple(tokenizer.think_end_tokens or ())
        self._stop = tuple(text for text in stop if text)
        self._pending: list[int] = []  # tokens that may be the beginning of a marker
        self._held = ""  # the end of the answer that may be the beginning of a stop string
        self._at_start = not prompt.begun  # nothing but white space in this channel yet
        self.stopped = False
        thinking = bool(self._opening) and _last(prompt.opening, self._opening) > _last(prompt.opening, self._closing)
        self.channel: Channel = "thinking" if thinking else "answer"
        for token in prompt.begun:  # so that the first space after it is not taken for the start of a text
            self._detokenizer.add_token(token)
        _ = self._detokenizer.last_segment

    def add(self, tokens: Sequence[int], sources: Sequence[Source]) -> Iterator[Commit]:
        """Commits for these tokens, one a channel and change of channel; none after a stop string, which sets `stopped`."""
        piece = _Piece(self.channel, "", [], [])
        for token, source in zip(tokens, sources, strict=True):
            piece.tokens.append(token)
            piece.sources.append(source)
            if token in self._silent:
                continue
            if self._closes(token):
                piece.text += self._flush()
                yield self._commit(piece)
                if self.stopped:
                    return
                self.channel, self._at_start = "thinking" if self.channel == "answer" else "answer", True
                piece = _Piece(self.channel, "", [], [])
            elif self._stop:  # looked for after every token, so that none after it is kept
                piece.text += self._through(self._detokenizer.last_segment)
                if self.stopped:
                    break
        if not self.stopped:
            piece.text += self._through(self._detokenizer.last_segment)
        if piece.tokens:
            yield self._commit(piece)

    def finish(self) -> Iterator[Commit]:
        """What was held back, once no more tokens come."""
        text = "" if self.stopped else self._flush()
        if text:
            yield Commit(text, self.channel, (), ())

    def _closes(self, token: int) -> bool:
        """Take a token of the channel's text; whether it completes the marker that ends the channel, which is no text."""
        marker = self._opening if self.channel == "answer" else self._closing
        if not self._pending and (not marker or token != marker[0]):
            self._detokenizer.add_token(token)
            return False
        self._pending.append(token)
        if tuple(self._pending) == marker:
            self._pending.clear()
            return True
        while self._pending and tuple(self._pending) != marker[: len(self._pending)]:
            self._detokenizer.add_token(self._pending.pop(0))
        return False

    def _flush(self) -> str:
        for token in self._pending:
            self._detokenizer.add_token(token)
        self._pending.clear()
        self._detokenizer.finalize()
        text = self._through(self._detokenizer.last_segment) + self._held
        self._detokenizer.reset()
        self._held = ""
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
