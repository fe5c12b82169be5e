"""The sidebar: the list of chats, folders, and search."""
