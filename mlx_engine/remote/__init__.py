"""Endpoints: engines of others, over HTTP."""
