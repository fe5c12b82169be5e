"""Tools: MCP servers, built-in tools, approvals, and turns with calls."""
