"""This machine: its memory, device, BLAS and speed."""
