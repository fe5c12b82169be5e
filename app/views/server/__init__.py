"""The local server: its thread, its window, and its settings."""
