"""The rendering of replies: Markdown to blocks, and blocks to widgets."""
