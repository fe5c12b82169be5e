"""The training text as one long row of tokens, with a mark on those of replies."""

import random
import re
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from tests.demo_pair.corpus.chats import Chat, tools_chat, training_chat

SPELLED = re.compile(r"(?<=backward is \*\*)[a-z]+(?=\*\*)")
"""A reversed word, which is written letter by letter, so that the model need not know how the tokenizer joins its letters."""


def chats(count: int, seed: int) -> list[Chat]:
    """Generate the conversations of the training text that have no tools."""
    rng = random.Random(seed)
    return [training_chat(rng) for _ in range(count)]


def tools_chats(count: int, seed: int) -> list[Chat]:
    """Generate the conversations of the training text that have tools."""
    rng = random.Random(f"tools {seed}")
    return [tools_chat(rng) for _ in range(count)]


@dataclass(frozen=True)
class Row:
    """The tokens of all conversations in a row, their reply marks, and the start of each conversation."""

    ids: np.ndarray
    reply: np.ndarray
    starts: np.ndarray

    def windows(self, count: int, length: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw windows that begin with a conversation, so that every reply has its question.

        Returns:
            Tokens and reply marks, [count, length].
        """
        usable = self.starts[self.starts < len(self.ids) - length]
        index = draw.choice(usable, count)[:, None] + np.arange(length)
        return self.ids[index].astype(np.int32), self.reply[index]


def row(tokenizer: Tokenizer, conversations: list[Chat]) -> Row:
    """Encode prompts and replies separately, as at run time."""
    ids: list[int] = []
    marks: list[bool] = []
    starts: list[int] = []
    for chat in conversations:
        starts.append(len(ids))
        for text, writer in chat.parts():
            tokens = encode(tokenizer, text, spells=writer == "reply")
            ids += tokens
            # At run time, the opening of an earlier reply comes before it
            marks += [writer == "reply" or (writer == "earlier" and i > 0) for i in range(len(tokens))]
    return Row(np.array(ids, np.int16), np.array(marks), np.array(starts))


def encode(tokenizer: Tokenizer, text: str, spells: bool) -> list[int]:
    """Encode a text, in which a model that `spells` writes reversed words letter by letter."""
    words = [word.span() for word in SPELLED.finditer(text)] if spells else []
    pieces, at = list[str](), 0
    for start, end in words:
        pieces += (text[at:start], *text[start:end])
        at = end
    return [token for piece in (*pieces, text[at:]) for token in tokenizer.encode(piece, add_special_tokens=False).ids]
