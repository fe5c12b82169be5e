"""Decoding loops and the choice of tokens."""
