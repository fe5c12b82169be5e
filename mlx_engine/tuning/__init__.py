"""Calibration, kernel selection, and measurements on the user's machine."""
