"""The HTTP API, with the dialects of OpenAI and Anthropic."""

HOST, PORT = "127.0.0.1", 8484  # defaults
