"""The chat panel: the composer, attachments, and the context meter."""
