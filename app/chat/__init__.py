"""The chat panel: what is sent, the reply in progress, the composer."""
