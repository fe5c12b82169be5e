"""An engine on another computer, reached through OpenAI's API."""
