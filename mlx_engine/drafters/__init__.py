"""Drafters, which propose the next block of tokens from the target's hidden states."""
