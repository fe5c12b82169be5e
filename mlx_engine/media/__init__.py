"""Images and PDFs from outside, which a child process decodes. No MLX."""
