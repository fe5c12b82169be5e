"""A small Qwen3 target and its DFlash drafter, trained by this code."""
