"""How many examples a slow property gets."""

from hypothesis import settings

SAMPLED = 50  # profiles of fewer are samples
_TIMES = 5  # examples in `make test-all` for each in `make test`, as for properties without a count of their own


SAMPLE = settings().max_examples < SAMPLED  # whether the run is a sample, as in `make test`


def sampled(count: int, whole: int | None = None) -> settings:
    """For `@`: this many in `make test`, and in `make test-all` `whole`, by default 5 times as many."""
    return settings(max_examples=count if SAMPLE else whole or min(_TIMES * count, settings().max_examples))
