"""How many examples a slow property gets."""

from hypothesis import settings

SAMPLED = 50  # profiles of fewer are samples


SAMPLE = settings().max_examples < SAMPLED  # whether the run is a sample, as in `make test`


def sampled(count: int, whole: int | None = None) -> settings:
    """For `@`: this many in `make test`, and in `make test-all` `whole`, by default the count of all properties."""
    return settings(max_examples=count if SAMPLE else whole or settings().max_examples)
