"""The Compare window."""
