"""Downloads from the model hub."""
