"""The engine's own array kernels: a contract and its plain-MLX reference, one file each."""
