"""This machine: its memory, device, BLAS, speed, and child processes."""
