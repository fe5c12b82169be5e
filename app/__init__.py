"""The desktop app: widgets and signals. It reaches models only through the engine thread and never imports MLX."""
