"""How many examples a slow property gets."""

from hypothesis import settings

SAMPLED = 50  # profiles of fewer are samples


def sampled(count: int) -> settings:
    """For `@`: this many in `make test`, the stated count of all properties in `make test-all`."""
    whole = settings().max_examples
    return settings(max_examples=count if whole < SAMPLED else whole)
