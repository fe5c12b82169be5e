"""Drafters: they propose the next block of tokens from what the target has computed."""
