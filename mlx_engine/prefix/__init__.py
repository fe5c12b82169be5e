"""Snapshots of past prompts, for reuse by later turns."""
