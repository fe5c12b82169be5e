"""What a request may ask for: everything else is refused in a sentence before anything is computed."""

from mlx_engine.errors import UserError
from mlx_engine.requests import GenerationRequest

PREFILL_ROWS = 512  # tokens a pass of prefill: long enough to be efficient, short enough that a cancel is soon seen
MOST_ROWS = 64  # tokens that a block may have; a pass of more is a prompt's, and nothing is kept to take it back
_HOTTEST = 100.0  # temperature: the choices are blind well before
_HARSHEST = 100.0  # penalties, either way


def check(request: GenerationRequest, vocabulary: int, block: int | None) -> None:
    """Refuse what makes no sense.

    Args:
        request: the whole of it but its messages.
        vocabulary: of the target, in tokens.
        block: the drafter's block size, None without a drafter.

    Raises:
        UserError: a value is out of its range or no number at all.
    """
    check_choices(request, block)
    wrong = next(
        (token for token in request.prompt_tokens or () if not isinstance(token, int) or not 0 <= token < vocabulary), None
    )
    if wrong is not None:
        raise UserError(f"The prompt has token {wrong}; this target's tokens go from 0 to {vocabulary - 1}.")


def check_choices(request: GenerationRequest, block: int | None) -> None:
    """The same of everything but the prompt, which needs no target."""
    s, width = request.sampling, request.width
    for name, number, least, most, note in (
        ("temperature", s.temperature, 0, _HOTTEST, "0 always takes the likeliest token"),
        ("top-p", s.top_p, 0, 1, "1 is off"),
        ("min-p", s.min_p, 0, 1, "0 is off"),
        ("repetition penalty", s.repetition_penalty, 1 / _HARSHEST, _HARSHEST, "1 is off"),
        ("presence penalty", s.presence_penalty, -_HARSHEST, _HARSHEST, "0 is off"),
        ("frequency penalty", s.frequency_penalty, -_HARSHEST, _HARSHEST, "0 is off"),
    ):
        if not _number(number) or not least <= number <= most:
            raise UserError(f"The {name} is {number}; it has to be from {least:g} to {most:g} ({note}).")
    if s.top_p == 0:
        raise UserError("Top-p is 0, which leaves no token to choose from; it has to be above 0 (1 is off).")
    for name, whole, lowest, highest, note in (
        ("top-k", s.top_k, 0, None, "0 is off"),
        ("token limit", request.max_tokens, 1, None, ""),
        ("width", width, 1, block, "with this drafter" if block else ""),
        ("seed", request.seed, 0, (1 << 64) - 1, "64 bits"),
    ):
        if whole is None and name in ("width", "seed"):
            continue
        if not isinstance(whole, int) or isinstance(whole, bool) or whole < lowest or (highest is not None and whole > highest):
            bounds = f"at least {lowest}" if highest is None else f"from {lowest} to {highest}"
            raise UserError(f"The {name} is {whole}; it has to be a whole number, {bounds}{f' ({note})' if note else ''}.")
    if request.mode not in ("dflash", "plain"):
        raise UserError(f"The mode is “{request.mode}”; it may be dflash or plain.")
    if "" in request.stop:
        raise UserError("A stop string is empty, which would end every reply before it begins. Leave it out or write something.")
    if request.effort is not None and not request.effort.isalpha():
        raise UserError(f"The effort is “{request.effort}”; it has to be one word, such as low, medium or high.")


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
