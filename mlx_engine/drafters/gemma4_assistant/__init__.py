"""Gemma 4 assistants: a few layers that read keys and values of the target."""
