"""The commands of the console script, one file each, and what they share."""
