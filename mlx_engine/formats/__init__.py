"""How a family writes prompts, thinking, tool calls and answers."""
