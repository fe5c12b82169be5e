"""Pairs: catalog, downloads, local models, and memory fit. Imports no MLX."""
