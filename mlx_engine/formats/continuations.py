"""What the text of a prompt shares with later prompts.

Templates render history differently from the current turn: they drop thinking and the opening of the reply. So a chat is rendered
a second time, as its *next turn*: with a reply and another question. Private-use characters mark where messages are in it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from threading import Event

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.formats.chat_text import chat_text
from mlx_engine.formats.known_prompts import shared_length
from mlx_engine.formats.sight import Sight

_FIRST, _LAST, _REPLY, _QUESTION = range(4)  # marks: before the user's first and last message, and as later messages


class _Continuation:
    """The text of a chat that begins like a prompt.

    Attributes:
        places: positions of the marks, in the text without marks.
        shared: length of the beginning that is the prompt's, too.
        end: the text after the last mark.
    """

    def __init__(self, prompt: str, marked: str, marks: str) -> None:
        text, *pieces = re.split(f"(?=[{marks}])", marked)
        self.places, self.end = dict[int, int](), text
        for piece in pieces:
            self.places.setdefault(marks.index(piece[0]), len(text))
            self.end = piece[1:]
            text += self.end
        added = min(place for mark, place in self.places.items() if mark >= _REPLY)
        self.shared = min(shared_length(prompt, text), added)

    def reaches(self, mark: int) -> bool:
        """Return whether the prompt shares the text before a mark."""
        return mark in self.places and self.places[mark] <= self.shared


def continuations(
    tokenizer: TokenizerWrapper,
    request: GenerationRequest,
    text: str,
    with_lengths: bool,
    cancel: Event | None,
    sight: Sight | None = None,
) -> tuple[int, set[int]]:
    """Compare a prompt's text with its next turn, and perhaps with other chats.

    Returns:
        where the text begins that follows the last message: what ends a message, and the opening of the reply; and the lengths of
        text that the prompt shares with other chats, with its next turn, and with the result of a call.

    Raises:
        WorkCancelled: `cancel` was set.
    """
    unused = (mark for mark in map(chr, chain(range(0xE000, 0xF900), range(0xF0000, 0xFFFFE))) if mark not in text)
    marks = "".join(islice(unused, 4))
    reply, question = Message("assistant", marks[_REPLY]), Message("user", marks[_QUESTION])

    def rendered(*messages: Message, tools: Sequence[ToolSpec] = request.tools) -> _Continuation | None:
        """Return a chat with a question at its end, or None if the template can't."""
        try:
            marked = chat_text(tokenizer, messages, request.thinking, request.effort, tools, cancel=cancel, sight=sight)
        except UserError:
            return None
        return _Continuation(text, marked, marks) if marks[_QUESTION] in marked else None

    head = tuple(takewhile(lambda message: message.role == "system", request.messages))
    following = rendered(*_marked(request, len(head), marks), reply, question) or rendered(*head, question)
    if following is None:
        return len(text), set()
    end = following.end
    opening = len(text) - shared_length(text[::-1][: len(end)], end[::-1])
    if not with_lengths:
        return opening, set()
    lengths, others = {following.shared}, [rendered(head[0], question) if len(head) > 1 else None]
    if any(place >= following.shared for mark, place in following.places.items() if mark < _REPLY):  # perhaps due to the mark
        others.append(rendered(*request.messages, reply, question))
    if following.reaches(_FIRST):
        lengths.add(following.places[_FIRST])
    else:
        others.append(rendered(*head, question))
    if request.tools and following.reaches(_LAST):
        after = rendered(question, *_called("0", "0"), tools=())  # the same for all prompts
        lengths.add(max(opening, len(text) - len(end) + shared_length(end, after.end if after else "")))
    elif request.tools:
        others.append(rendered(*request.messages, *_called(marks[_REPLY], marks[_QUESTION])))
    return opening, lengths | {other.shared for other in others if other}


def _called(said: str, result: str) -> tuple[Message, Message]:
    """Return a tool call and its result."""
    call = ToolCall("000000000", "tool", "{}")
    return Message("assistant", said, calls=(call,)), Message("tool", result, call_id=call.id)


def _marked(request: GenerationRequest, head: int, marks: str) -> Sequence[Message]:
    """Return the messages with marks before the user's words.

    Args:
        request: has the messages.
        head: the number of system messages at the beginning.
        marks: the marks.
    """
    messages = [*request.messages]
    if not messages[head:] or messages[head].role != "user":
        return messages  # templates render such chats in other ways
    last = max(at for at, message in enumerate(messages) if message.role == "user")
    if request.tools and (words := messages[last].content.lstrip()):
        messages[last] = _with_mark(messages[last], len(messages[last].content) - len(words), marks[_LAST])
    later_system = any(message.role == "system" for message in messages[head:])  # may be rendered before the user's message
    if messages[head].content[:1].strip() and not later_system:
        messages[head] = _with_mark(messages[head], 0, marks[_FIRST])
    return messages


def _with_mark(message: Message, place: int, mark: str) -> Message:
    """Return a message with a mark in its text, before the images at the same place."""
    content = message.content[:place] + mark + message.content[place:]
    images = tuple(replace(image, at=image.at + 1) if image.at >= place else image for image in message.images)
    return replace(message, content=content, images=images)
