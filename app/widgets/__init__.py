"""Shared widgets and the theme."""
