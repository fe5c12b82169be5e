"""Tests; they mirror the folders of the program."""

import mlx_engine  # noqa: F401 - sets how MLX computes, before a test imports MLX
