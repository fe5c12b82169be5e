"""The This Mac window, and the memory warning."""
