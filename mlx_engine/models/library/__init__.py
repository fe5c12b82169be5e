"""The pairs that can be used: from the catalog, the user, and the disk."""
