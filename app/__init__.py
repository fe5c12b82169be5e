"""The desktop app. It never imports MLX."""
