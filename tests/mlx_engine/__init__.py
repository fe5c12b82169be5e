"""Tests of the engine and the terminal."""
