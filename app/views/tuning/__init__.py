"""The Tune Drafter window."""
