"""The sidebar: the list of chats, projects, and search."""
