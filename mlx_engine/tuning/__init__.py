"""Training a drafter further on the user's own replies."""
