"""Data that the program ships: demo pair, pictures, catalog."""
