"""Real coding agents from npm and PyPI, with Slipstream's server."""
