"""Snapshots of past prompts, reused by later turns."""
