"""Targets: mlx-lm's own models, with taps on their layers and caches that rewind."""
