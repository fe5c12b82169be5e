"""Array kernels: each module holds a contract, its plain-MLX reference and the Metal call."""
