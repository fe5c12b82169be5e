"""Tool calls in replies. Imports no MLX."""
