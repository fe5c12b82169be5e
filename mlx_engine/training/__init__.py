"""Training of a drafter for a target."""
