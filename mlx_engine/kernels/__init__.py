"""Kernels, each with a contract, a plain-MLX reference, and a Metal call."""
