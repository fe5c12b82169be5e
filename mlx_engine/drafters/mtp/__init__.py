"""MTP heads of Qwen3.5, 3.6, 3.8, and Next."""
