"""What crosses between front ends and engines, and files and secrets."""
