"""Tools that chats can use: their servers, settings, and approvals."""
