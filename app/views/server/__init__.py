"""The Local Server window, and its settings."""
