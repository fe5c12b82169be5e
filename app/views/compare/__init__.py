"""The Compare window, which runs one prompt in both decoding modes."""
