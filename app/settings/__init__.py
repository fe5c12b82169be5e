"""Settings of the whole app."""
