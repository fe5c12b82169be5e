"""Valid ranges of requests, checked before anything is computed."""

import math
from collections.abc import Sequence
from typing import Any

from mlx_engine.errors import EngineText, UserError
from mlx_engine.requests import GenerationRequest

PREFILL_ROWS = 512  # tokens per prefill pass: enough to be efficient, few enough to cancel quickly
MAX_BLOCK_ROWS = 64  # tokens per block; longer passes are prefill, which can't be rewound
_MAX_TEMPERATURE = 100.0  # sampling is random at much lower temperatures
_MAX_PENALTY = 100.0  # positive or negative
_ZERO_IS_OFF = EngineText.of("zero_is_off", " (0 is off)")
_ONE_IS_OFF = EngineText.of("one_is_off", " (1 is off)")
_WITH_DRAFTER = EngineText.of("with_this_drafter", " with this drafter")


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


def check_choices(request: GenerationRequest, block: int | None) -> None:
    """Refuse a request with values out of range, except in its prompt.

    Args:
        block: the drafter's block size, or None without a drafter.

    Raises:
        UserError: a value is out of range or not a number.
    """
    s = request.sampling
    for name, number, least, most, note in (
        ("temperature", s.temperature, 0.0, _MAX_TEMPERATURE, ""),
        ("top-p", s.top_p, 0.0, 1.0, _ONE_IS_OFF),
        ("min-p", s.min_p, 0.0, 1.0, _ZERO_IS_OFF),
        ("repetition penalty", s.repetition_penalty, 1 / _MAX_PENALTY, _MAX_PENALTY, _ONE_IS_OFF),
        ("presence penalty", s.presence_penalty, -_MAX_PENALTY, _MAX_PENALTY, _ZERO_IS_OFF),
        ("frequency penalty", s.frequency_penalty, -_MAX_PENALTY, _MAX_PENALTY, _ZERO_IS_OFF),
    ):
        if not isinstance(number, int | float) or isinstance(number, bool) or not least <= number <= most:
            template = "The {name} is {value}. Use a number from {least:g} to {most:g}{note}."
            value = str(number)[:40]
            raise UserError("number_out_of_range", template, name=name, value=value, least=least, most=most, note=note)
    if s.top_p == 0:
        raise UserError("top_p_zero", "Top-p is 0, which leaves no token to choose from. Use a number above 0 (1 is off).")
    for name, whole, lowest, highest, note in (
        ("top-k", s.top_k, 0, math.inf, _ZERO_IS_OFF),
        ("token limit", request.max_tokens, 1, math.inf, ""),
        ("width", 1 if request.width is None else request.width, 1, block or math.inf, _WITH_DRAFTER if block else ""),
        ("seed", 0 if request.seed is None else request.seed, 0, (1 << 64) - 1, ""),
    ):
        if isinstance(whole, int) and not isinstance(whole, bool) and lowest <= whole <= highest:
            continue
        values: dict[str, Any] = {"name": name, "value": str(whole)[:40], "lowest": lowest, "note": note}
        if highest == math.inf:
            template = "The {name} is {value}. Use a whole number of at least {lowest}{note}."
            raise UserError("integer_too_small", template, **values)
        template = "The {name} is {value}. Use a whole number from {lowest} to {highest}{note}."
        raise UserError("integer_out_of_range", template, highest=highest, **values)
    if request.mode not in ("dflash", "plain"):
        raise UserError("unknown_mode", "The mode is “{mode}”. Use dflash or plain.", mode=request.mode)
    if "" in request.stop:
        raise UserError("empty_stop_string", "A stop string is empty, so every reply would end immediately. Remove it.")
    if request.effort is not None and not request.effort.isalpha():
        template = "The effort is “{effort}”. Use one word, such as low, medium, or high."
        raise UserError("bad_effort", template, effort=request.effort)
