"""The local server in the window."""
