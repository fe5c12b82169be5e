"""What the app does, without widgets: chats, replies, the loaded pair, downloads, comparisons, tools."""
