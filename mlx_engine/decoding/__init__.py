"""Decoding loops: plain and speculative, with sampling and width control."""
