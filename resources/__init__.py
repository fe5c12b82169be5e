"""What the program ships besides code: the demo pair, pictures, catalog. Data only."""
