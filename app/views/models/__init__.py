"""The Models window: pairs, downloads, and loading."""
