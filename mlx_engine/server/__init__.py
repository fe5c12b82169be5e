"""The local HTTP server: dialects of popular APIs over an engine. Imports no MLX."""

HOST, PORT = "127.0.0.1", 8484  # defaults
