"""The Models window: pairs, endpoints, and downloads."""
