"""The main window, which connects views with the session."""
