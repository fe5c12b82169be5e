"""What is said: chats, turns, replies as they grow, and the words for their figures. Nothing here knows of widgets."""
