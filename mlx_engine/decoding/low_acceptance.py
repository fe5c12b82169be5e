"""Why almost no drafts were accepted, which only slows a reply down."""

from collections.abc import Iterable

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.limits import WINDOWED_CONTEXT
from mlx_engine.decoding.step import Step
from mlx_engine.drafters.parts.drafter_config import DrafterConfig

_NEAR_ZERO = 0.1  # accepted / tested
_LEAST_TESTED = 20  # tokens; fewer can be bad luck
_HOT = 1.5  # temperature from which even good drafts are rarely chosen


def likely_cause(
    steps: Iterable[Step], config: DrafterConfig, drafter_weights: str, context: int, temperature: float
) -> EngineText | None:
    """Return the likely cause of an acceptance near zero, or None.

    Args:
        steps: the reply's steps. Copies don't count.
        config: config of the drafter.
        drafter_weights: as in `PairInfo`.
        context: tokens of prompt and reply.
        temperature: of the request.
    """
    rounds = list(steps)
    tested = sum(step.tested - step.copies_tested for step in rounds)
    accepted = sum(step.accepted - step.copies_accepted for step in rounds)
    if tested < _LEAST_TESTED or accepted >= _NEAR_ZERO * tested:
        return None
    if drafter_weights == "float16":
        template = "the drafter runs in float16, where its values can overflow"
        return EngineText.of("drafter_in_float16", template)
    if config.windowed and context > WINDOWED_CONTEXT:
        window, least = max(window or 0 for window in config.windows), WINDOWED_CONTEXT
        template = "the context exceeds {least:,} tokens, and the drafter sees only the last {window:,}"
        return EngineText.of("drafter_sees_window", template, window=window, least=least)
    if temperature >= _HOT:
        template = "a temperature of {temperature:g} makes replies hard to predict"
        return EngineText.of("temperature_too_high_to_draft", template, temperature=temperature)
    return EngineText.of("drafter_for_other_text", "the drafter was trained for another target or another kind of text")
