"""A small Qwen3-architecture target and a DFlash drafter for it, both trained from scratch by the code here."""
