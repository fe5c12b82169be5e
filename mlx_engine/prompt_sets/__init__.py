"""Published sets of prompts: their list, their download, and their formats."""
