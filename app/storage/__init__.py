"""The chats and comparisons on disk."""
