"""Renders replies: Markdown and code to blocks, and blocks to widgets."""
