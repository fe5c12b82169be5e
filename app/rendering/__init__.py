"""Markdown and code turned into plain values that the views draw. Nothing here knows of widgets."""
