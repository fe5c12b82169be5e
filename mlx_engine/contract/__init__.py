"""What crosses between front ends and engines, as plain values, and how files and secrets are written."""
