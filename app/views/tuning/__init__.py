"""Tuning of the loaded drafter: its window, and the process that does it."""
