"""Files of models on this machine."""
