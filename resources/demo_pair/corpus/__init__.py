"""The text that the demo pair learns from, all of it generated here."""
