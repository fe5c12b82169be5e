"""What the user sees: views show the session and send commands."""
