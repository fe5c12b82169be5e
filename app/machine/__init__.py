"""The This Computer screen and the measurements behind it."""
