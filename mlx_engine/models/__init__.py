"""Models on the hub and on this machine, without MLX."""
