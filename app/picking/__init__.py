"""Choosing a pair: what there is, how it fits, fetching, using and deleting it. No widgets, and no MLX."""
