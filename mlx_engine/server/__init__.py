"""The local HTTP server: dialects of popular APIs over an engine. Imports no MLX."""
