"""The transcript: messages, statistics, search and selection."""
