"""Reference outputs of DFlash drafters and pairs, and `python -m tests.golden [DIR]`, their checker. README.md tells the layout."""
