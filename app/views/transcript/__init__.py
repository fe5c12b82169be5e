"""The messages of a chat: views, scrolling, selection, and search."""
