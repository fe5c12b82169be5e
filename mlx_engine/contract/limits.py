"""Valid ranges of requests, and the messages that fit into the context."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message

PREFILL_ROWS = 512  # tokens per prefill pass: enough to be efficient, few enough to cancel quickly
MAX_BLOCK_ROWS = 64  # tokens per block; longer passes are prefill, which can't be rewound
MAX_SHARED_LOGITS = 1 << 23  # rows of a pass that replies share, times tokens of the vocabulary
MAX_COPY_ROWS = 32  # tokens per pass over a copy of earlier text
_MAX_TEMPERATURE = 100.0  # sampling is random at much lower temperatures
_MAX_PENALTY = 100.0  # positive or negative
_MAX_BIAS = 100.0  # positive or negative, as in OpenAI's API
WINDOWED_CONTEXT = 100_000  # tokens beyond which few drafts of drafters that see only a window were reported to be accepted
FEWEST_PROMPTS = 10  # to tune a drafter
MOST_PROMPTS = 200  # to tune a drafter, by default
MOST_REPLY_TOKENS = 2048  # of prompt and reply together; tuning leaves out longer ones
MAX_LOGPROBS = 20  # most likely tokens per position, as in OpenAI's API
MAX_REQUEST_BYTES = 32 << 20  # of a request to the API server, as of Anthropic's
MAX_IMAGES = 200  # of a request to the API server, in all messages
MAX_IMAGE_BYTES = 50_000_000  # of a file
MAX_DOCUMENT_BYTES = 2_000_000  # of a text file
_RESULT_LENGTHS = tuple(round(500 * 2 ** (step / 4)) for step in range(80))  # few, so that later prompts mostly begin the same
_CUT_OFF = "\n[The rest of this result is left out because it doesn't fit into the context.]"
_ZERO_IS_OFF = EngineText.of("zero_is_off", " (0 is off)")
_ONE_IS_OFF = EngineText.of("one_is_off", " (1 is off)")
_CHOOSE_SEEING = EngineText.of("cannot_see", "It can't see images. Remove the image, or choose a model that can see.")
_WITH_DRAFTER = EngineText.of("with_this_drafter", " with this drafter")


def rolling_window(
    messages: tuple[Message, ...], left_out: int, limit: int, max_tokens: int, count: Callable[[Sequence[Message]], int]
) -> tuple[Message, ...]:
    """Return the messages to send, without the oldest turns if the context is full.

    System messages and the last turn always stay. `max_tokens`, or a quarter of the context if less, stay free for the reply. When
    turns must be left out, another quarter is freed, so that the next prompts begin with the same messages and reuse the snapshot.

    Args:
        messages: the whole chat.
        left_out: number of messages, without system messages, that an earlier request left out and that stay left out.
        limit: context length in tokens.
        max_tokens: token limit of the reply.
        count: returns the number of tokens of a prompt.
    """
    head, (start, *later) = _window_starts(messages, left_out)
    room = _room(limit, max_tokens)
    if later and count(_window(messages, head, start)) > room:
        index = bisect_left(later, True, key=lambda at: count(_window(messages, head, at)) <= room - limit // 4)
        start = later[min(index, len(later) - 1)]
    return _window(messages, head, start)


def shrinking_windows(request: GenerationRequest) -> Iterator[tuple[tuple[Message, ...], int]]:
    """Yield ever shorter windows: messages, and number left out.

    A server doesn't say how much fits, so each is tried if the one before was too long.
    """
    messages = request.messages
    if request.rolling is None:
        yield messages, 0
        return
    head, starts = _window_starts(messages, request.rolling)
    for at in sorted({min(2**step - 1, len(starts) - 1) for step in range(len(starts).bit_length() + 1)}):
        yield _window(messages, head, starts[at]), starts[at] - head


def _window_starts(messages: tuple[Message, ...], left_out: int) -> tuple[int, list[int]]:
    """Return where windows can begin after the system messages.

    Args:
        messages: the whole chat.
        left_out: as in `rolling_window`.

    Returns:
        The number of system messages, and indices of messages, ascending.
    """
    head = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    turns = [at for at in range(head, len(messages)) if messages[at].role == "user"]
    if left_out == 0:
        return head, sorted({head, *turns})
    return head, [at for at in turns if at >= head + left_out] or turns[-1:] or [head]


def _window(messages: tuple[Message, ...], head: int, start: int) -> tuple[Message, ...]:
    return (*messages[:head], *messages[start:])


def shorten_results(
    messages: tuple[Message, ...], limit: int, max_tokens: int, count: Callable[[Sequence[Message]], int]
) -> tuple[tuple[Message, ...], int]:
    """Cut off long results of tools if the reply has too little space.

    All results are cut to the same length, so that a new one gets as much space as older ones.

    Args:
        messages: the messages to send.
        limit, max_tokens, count: as in `rolling_window`.

    Returns:
        the messages, and the length of the results in characters, or 0 if all of them fit.
    """
    lengths = result_lengths(messages)
    room = _room(limit, max_tokens)
    if not lengths or count(messages) <= room:
        return messages, 0
    length = lengths[max(0, bisect_left(lengths, True, key=lambda each: count(cut_results(messages, each)) > room) - 1)]
    return cut_results(messages, length), length


def result_lengths(messages: Sequence[Message]) -> list[int]:
    """Return the lengths to which tools' results can be cut, ascending."""
    longest = max((len(message.content) for message in messages if message.role == "tool"), default=0)
    return [length for length in _RESULT_LENGTHS if length < longest]


def cut_results(messages: Sequence[Message], length: int) -> tuple[Message, ...]:
    """Return the messages with tools' results cut to `length` characters.

    Images stay: those after the text that is left out follow the note about it.
    """
    return tuple(
        replace(message, content=(text := message.content[:length] + _CUT_OFF), images=_shifted(message.images, length, len(text)))
        if message.role == "tool" and len(message.content) > length
        else message
        for message in messages
    )


def _shifted(images: Sequence[AttachedImage], after: int, to: int) -> tuple[AttachedImage, ...]:
    """Return images with those behind `after` characters moved to `to`."""
    return tuple(replace(image, at=to) if image.at > after else image for image in images)


def check_images(messages: Sequence[Message], sees: bool = False, why: EngineText | None = None) -> None:
    """Refuse images that the model can't see, or that no template shows.

    Args:
        messages: the chat.
        sees: whether the model can see images.
        why: why it can't, if that is known.

    Raises:
        UserError: an image is refused.
    """
    for role, image in ((message.role, image) for message in messages for image in message.images):
        name = image.name or "image"
        if not sees:
            template = "Can't show “{name}” to this model. {reason}"
            raise UserError("sees_no_images", template, name=name, reason=why or _CHOOSE_SEEING)
        if role in ("system", "assistant"):
            template = "“{name}” is in a system prompt or a reply. Put images into messages of the user or results of tools."
            raise UserError("image_in_other_message", template, name=name)


def _room(limit: int, max_tokens: int) -> int:
    """Return the number of tokens that a prompt may have, so that the reply has space."""
    return limit - min(max_tokens, limit // 4)


def check_tokens(tokens: Sequence[int], rows: int) -> None:
    """Refuse tokens without a row in the target's embedding.

    MLX would read memory outside the table. A tokenizer may have more tokens than its model.

    Args:
        tokens: the whole prompt.
        rows: rows of the embedding.

    Raises:
        UserError: a token is out of range or not an integer.
    """
    for token in tokens:
        if not isinstance(token, int) or not 0 <= token < rows:
            template = "Token {token} is outside this model's range of 0 to {last}. Use other tokens, or download the model again."
            raise UserError("unknown_prompt_token", template, token=str(token)[:40], last=rows - 1)


def check_biases(biases: Sequence[tuple[int, float]], vocabulary: int) -> None:
    """Refuse a logit bias for tokens outside the vocabulary.

    Raises:
        UserError: a token is out of range.
    """
    for token, _ in biases:
        if not 0 <= token < vocabulary:
            template = "Token {token} in the logit bias is outside this model's range of 0 to {last}. Use other tokens."
            raise UserError("unknown_bias_token", template, token=str(token)[:40], last=vocabulary - 1)


def check_choices(request: GenerationRequest, block: int | None) -> None:
    """Refuse a request with options out of range. The prompt isn't checked.

    Args:
        block: the drafter's block size, or None without a drafter.

    Raises:
        UserError: an option is out of range or not a number.
    """
    s = request.sampling
    numbers: tuple[tuple[str, float, float, float, str | EngineText], ...] = (
        ("temperature", s.temperature, 0.0, _MAX_TEMPERATURE, ""),
        ("top-p", s.top_p, 0.0, 1.0, _ONE_IS_OFF),
        ("min-p", s.min_p, 0.0, 1.0, _ZERO_IS_OFF),
        ("repetition penalty", s.repetition_penalty, 1 / _MAX_PENALTY, _MAX_PENALTY, _ONE_IS_OFF),
        ("presence penalty", s.presence_penalty, -_MAX_PENALTY, _MAX_PENALTY, _ZERO_IS_OFF),
        ("frequency penalty", s.frequency_penalty, -_MAX_PENALTY, _MAX_PENALTY, _ZERO_IS_OFF),
        *[("logit bias", bias, -_MAX_BIAS, _MAX_BIAS, _ZERO_IS_OFF) for _, bias in request.logit_bias],
    )
    for name, number, least, most, note in numbers:
        if not isinstance(number, int | float) or isinstance(number, bool) or not least <= number <= most:
            template = "The {name} can't be {value}. Use a number from {least:g} to {most:g}{note}."
            value = str(number)[:40]
            raise UserError("number_out_of_range", template, name=name, value=value, least=least, most=most, note=note)
    if s.top_p == 0:
        raise UserError("top_p_zero", "Top-p is 0, which leaves no token to choose from. Use a number above 0 (1 is off).")
    widest, of_drafter = (MAX_COPY_ROWS, "") if request.lookup_only else (block or math.inf, _WITH_DRAFTER if block else "")
    for name, whole, lowest, highest, note in (
        ("top-k", s.top_k, 0, math.inf, _ZERO_IS_OFF),
        ("token limit", request.max_tokens, 1, math.inf, ""),
        ("width", 1 if request.width is None else request.width, 1, widest, of_drafter),
        ("seed", 0 if request.seed is None else request.seed, 0, (1 << 64) - 1, ""),
        ("number of log-probabilities", 0 if request.logprobs is None else request.logprobs, 0, MAX_LOGPROBS, ""),
    ):
        if isinstance(whole, int) and not isinstance(whole, bool) and lowest <= whole <= highest:
            continue
        values: dict[str, Any] = {"name": name, "value": str(whole)[:40], "lowest": lowest, "note": note}
        if highest == math.inf:
            template = "The {name} can't be {value}. Use a whole number, {lowest} or greater{note}."
            raise UserError("integer_too_small", template, **values)
        template = "The {name} can't be {value}. Use a whole number from {lowest} to {highest}{note}."
        raise UserError("integer_out_of_range", template, highest=highest, **values)
    if request.mode not in ("dflash", "plain"):
        raise UserError("unknown_mode", "“{mode}” isn't a valid mode. Use dflash or plain.", mode=request.mode)
    if "" in request.stop:
        raise UserError("empty_stop_string", "A stop sequence is empty, so every reply would end immediately. Remove it.")
    if request.effort is not None and not request.effort.isalpha():
        template = "“{effort}” isn't a valid effort. Use one word, such as low, medium, or high."
        raise UserError("bad_effort", template, effort=request.effort)
