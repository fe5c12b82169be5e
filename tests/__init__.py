"""Tests; they mirror the folders of the program."""
