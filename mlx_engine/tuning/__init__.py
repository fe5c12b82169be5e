"""Calibration and kernel selection on the user's machine."""
