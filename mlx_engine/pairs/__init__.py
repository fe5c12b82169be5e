"""Choosing a pair: what is on disk and what goes with what. Imports no MLX."""
