"""The demo pair: the text that it is trained on, its training, and what it answers."""
