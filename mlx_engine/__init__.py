"""The engine: everything that touches MLX or model files. Knows nothing of Qt."""
