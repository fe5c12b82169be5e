"""Configs of targets and drafters, read and checked."""
