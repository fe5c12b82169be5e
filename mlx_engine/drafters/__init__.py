"""Drafters: models that propose blocks of tokens from the target's hidden states."""
