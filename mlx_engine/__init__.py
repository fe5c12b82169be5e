"""The engine: all code that uses MLX or model files. Independent of Qt."""
