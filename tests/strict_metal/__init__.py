"""Compile Metal kernels with clang, under Metal's rules, on any machine.

docs/kernels.md explains how it works and what it can't find.
"""
