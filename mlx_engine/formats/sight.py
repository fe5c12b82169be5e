"""How the prompts of a model that sees show images.

A chat template writes one placeholder per image. In the prompt, it becomes a token for each soft token of the image.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mlx_engine.contract.attached_images import with_marks
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import AttachedImage, Message
from mlx_engine.vision.spans import ImageSpan


@dataclass(frozen=True)
class Sight:
    """The tokens around images in prompts, and what becomes of an image.

    Attributes:
        placeholder: what the chat template writes for an image; the text of the image token.
        token: ID of the image token.
        start, end: IDs of the tokens around an image.
        wraps: whether the template leaves these two out.
        seen: returns the rows and columns of an image's soft tokens, and the digest of what the model sees.
        written: what shows an image in the text of a prompt; the placeholder by default.
    """

    placeholder: str
    token: int
    start: int
    end: int
    wraps: bool
    seen: Callable[[AttachedImage], tuple[tuple[int, int], str]]
    written: str = ""

    def expand(self, tokens: Sequence[int], images: Sequence[AttachedImage]) -> "Expanded":
        """Replace each placeholder of a prompt by the tokens of its image.

        Raises:
            UserError: the prompt's text has a placeholder that isn't an image.
        """
        places = [at for at, token in enumerate(tokens) if token == self.token]
        if len(places) != len(images):
            raise self.ambiguous()
        made, spans, done = list[int](), list[ImageSpan](), 0
        added = list[tuple[int, int]]()
        for at, image in zip(places, images, strict=True):
            made += tokens[done:at]
            before, done = len(made), at + 1
            made += [self.start] if self.wraps else []
            spans.append(ImageSpan(len(made), *self.seen(image)))
            made += [self.token] * (spans[-1].end - spans[-1].start)
            made += [self.end] if self.wraps else []
            added.append((at, len(made) - before - 1))
        return Expanded([*made, *tokens[done:]], tuple(spans), tuple(added))

    def broken_up(self, value: Any) -> Any:
        """Return words, or JSON with words, with an invisible space in each placeholder."""
        match value:
            case str():
                return value.replace(self.placeholder, f"{self.placeholder[:1]}\u200b{self.placeholder[1:]}")
            case list() | tuple():
                return [self.broken_up(each) for each in value]
            case Mapping():
                return {self.broken_up(name): self.broken_up(each) for name, each in value.items()}
        return value

    def ambiguous(self) -> UserError:
        """Return the refusal of text that looks like an image."""
        template = "The chat contains “{placeholder}”, which stands for an image in this model's prompts. Remove it."
        return UserError("image_token_in_text", template, placeholder=self.placeholder)


@dataclass(frozen=True)
class Expanded:
    """A prompt with the tokens of its images.

    Attributes:
        added: for each placeholder, its index in the prompt without images, and the number of tokens that it grew by.
    """

    tokens: list[int]
    spans: tuple[ImageSpan, ...]
    added: tuple[tuple[int, int], ...]

    def count(self, before: int) -> int:
        """Return what the first `before` tokens became, never a part of an image."""
        return before + sum(more for at, more in self.added if at < before)


class ImageMarks:
    """The images of a chat as characters, so that it can be rewritten as text.

    Attributes:
        messages: the chat, with a character in the text at the place of each image.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        words = "".join(message.content for message in messages)
        count = sum(len(message.images) for message in messages)
        unused = (mark for mark in map(chr, range(0x100000, 0x10FFFE)) if mark not in words)
        self._marks = "".join(islice(unused, count))
        marks = iter(self._marks)
        self.messages = [with_marks(message, *islice(marks, len(message.images))) for message in messages]

    def order(self, chat: Sequence[dict[str, Any]]) -> tuple[int, ...]:
        """Return the images of a chat in order, as indices."""
        return tuple(self._marks.index(mark) for turn in chat for mark in turn["content"] if mark in self._marks)

    def shown(self, chat: Sequence[dict[str, Any]], sight: Sight) -> list[list[dict[str, Any]]]:
        """Return a chat with its images as templates expect them.

        If there are images in results of tools, a second chat has them as text, for templates that show images of the user only.
        """
        written = sight.written or sight.placeholder
        in_text = [
            {**turn, "content": re.sub(f"[{self._marks}]", lambda _: written, turn["content"])} if turn["role"] == "tool" else turn
            for turn in chat
        ]
        return [[{**turn, "content": self._parts(turn["content"])} for turn in each] for each in (chat, in_text)]

    def _parts(self, text: str) -> Any:
        pieces = re.split(f"([{self._marks}])", text)
        if len(pieces) == 1:
            return text
        return [{"type": "image"} if piece in self._marks else {"type": "text", "text": piece} for piece in pieces if piece]
