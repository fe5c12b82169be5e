"""What the program ships besides code: the demo pair, pictures, catalogue. Data only."""
