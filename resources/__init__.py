"""What ships beside the code: the demo pair, icons, fonts, templates. Imports nothing of ours but itself."""
