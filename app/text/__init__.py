"""Languages, and text without formatting."""
