"""The chat panel: the composer, the reply in progress, and the context meter."""
