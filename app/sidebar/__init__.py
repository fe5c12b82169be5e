"""The sidebar: the list of chats and their storage."""
