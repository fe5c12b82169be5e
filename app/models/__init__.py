"""The model picker: pairs, downloads, loading."""
