"""The user guide and other pages, also shown in the Help window."""
