"""Benchmarks and tools for developers; not shipped."""
