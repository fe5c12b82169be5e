"""The sidebar and the library of chats behind it."""
