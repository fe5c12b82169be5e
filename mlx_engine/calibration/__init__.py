"""Measuring this machine, to choose kernels and widths."""
