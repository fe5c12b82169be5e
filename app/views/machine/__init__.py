"""The This Mac window, measurements, and the memory warning."""
