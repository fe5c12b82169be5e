"""What several kinds of drafters have in common."""
