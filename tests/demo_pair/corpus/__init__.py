"""Generates the text that the demo pair is trained on."""
