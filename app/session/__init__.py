"""What the app does, without widgets."""
