"""The training text as one long row of tokens, with a mark on those of replies."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer

from .corpus.chats import Chat, tools_chat, training_chat


def chats(count: int, seed: int) -> list[Chat]:
    """Generate the conversations of the training text that have no tools."""
    rng = random.Random(seed)
    return [training_chat(rng) for _ in range(count)]


def tools_chats(count: int, seed: int) -> list[Chat]:
    """Generate the conversations of the training text that have tools."""
    rng = random.Random(f"tools {seed}")
    return [tools_chat(rng) for _ in range(count)]


@dataclass
class Row:
    """The tokens of all conversations in a row, their reply marks, and the start of each conversation."""

    ids: torch.Tensor
    reply: torch.Tensor
    starts: torch.Tensor

    def windows(self, count: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw random windows that begin with a conversation, so that every reply has its question."""
        usable = int((self.starts < len(self.ids) - length).sum())
        first = self.starts[torch.randint(usable, (count,), generator=generator)]
        index = first[:, None] + torch.arange(length)
        return self.ids[index].long(), self.reply[index]


SPELLED = re.compile(r"(?<=backward is \*\*)[a-z]+(?=\*\*)")
"""A reversed word, which is written letter by letter, so that the model need not know how the tokenizer joins its letters."""


def encode_reply(tokenizer: Tokenizer, reply: str) -> list[int]:
    """Encode a reply and its end."""
    ids: list[int] = []
    at = 0
    text = reply + "<|im_end|>"
    for word in SPELLED.finditer(text):
        for part in (text[at : word.start()], *word[0]):
            ids += tokenizer.encode(part, add_special_tokens=False).ids
        at = word.end()
    return ids + tokenizer.encode(text[at:], add_special_tokens=False).ids


def row(tokenizer: Tokenizer, conversations: list[Chat]) -> Row:
    """Encode prompts and replies separately, as at run time."""
    pieces = [(*part, i == 0) for chat in conversations for i, part in enumerate(chat.parts())]
    ids: list[np.ndarray] = []
    marks: list[np.ndarray] = []
    starts: list[int] = []
    at = 0
    for i in range(0, len(pieces), 30000):
        some = pieces[i : i + 30000]
        encodings = tokenizer.encode_batch([text for text, _, _ in some], add_special_tokens=False)
        for (text, writer, first), encoding in zip(some, encodings, strict=True):
            if first:
                starts.append(at)
            spelled = writer == "reply" and SPELLED.search(text)
            tokens = np.array(encode_reply(tokenizer, text.removesuffix("<|im_end|>")) if spelled else encoding.ids, dtype=np.int16)
            marked = np.full(len(tokens), writer != "prompt", dtype=np.uint8)
            if writer == "earlier":
                marked[0] = 0  # at run time, the opening of the reply comes before it
            ids.append(tokens)
            marks.append(marked)
            at += len(tokens)
    return Row(torch.from_numpy(np.concatenate(ids)), torch.from_numpy(np.concatenate(marks)), torch.tensor(starts))
