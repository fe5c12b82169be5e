"""Decoding: prefill, a reply's passes, sampling and width control."""
