"""Slipstream's own traffic: its clients, its record, and the Offline switch."""
