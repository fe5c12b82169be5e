"""The Models window: pairs, connections, and downloads."""
