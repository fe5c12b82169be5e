"""EAGLE-3: one layer that drafts token by token."""
