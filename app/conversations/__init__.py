"""Chats and replies: messages, storage, import, export, statistics. No widgets."""
