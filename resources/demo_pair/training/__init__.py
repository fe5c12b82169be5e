"""Trains the demo pair from scratch with torch, an extra that neither the app nor its tests install."""
