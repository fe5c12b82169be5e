"""The training text as one long row of tokens, with a mark on those of replies."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer

from .corpus.chats import Chat, training_chat


def chats(count: int, seed: int) -> list[Chat]:
    """Generate the conversations of the training text."""
    rng = random.Random(seed)
    return [training_chat(rng) for _ in range(count)]


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
    texts: list[str] = []
    for chat in conversations:
        texts += (chat.prompt(), chat.reply + "<|im_end|>", "\n")
    ids: list[np.ndarray] = []
    marks: list[np.ndarray] = []
    starts: list[int] = []
    at = 0
    for i in range(0, len(texts), 30000):
        for j, encoding in enumerate(tokenizer.encode_batch(texts[i : i + 30000], add_special_tokens=False)):
            part = (i + j) % 3
            if part == 0:
                starts.append(at)
            spelled = part == 1 and SPELLED.search(texts[i + j])
            found = encode_reply(tokenizer, texts[i + j].removesuffix("<|im_end|>")) if spelled else encoding.ids
            tokens = np.array(found, dtype=np.int16)
            ids.append(tokens)
            marks.append(np.full(len(tokens), part == 1, dtype=np.uint8))
            at += len(tokens)
    return Row(torch.from_numpy(np.concatenate(ids)), torch.from_numpy(np.concatenate(marks)), torch.tensor(starts))
