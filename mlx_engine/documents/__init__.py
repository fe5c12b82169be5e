"""Documents: their pages and passages, and the search in them. No MLX."""
