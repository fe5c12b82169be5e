"""The chat panel: the composer, the reply in progress, and what may start."""
