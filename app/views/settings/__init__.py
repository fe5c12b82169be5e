"""The app's settings."""
