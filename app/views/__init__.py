"""The widgets. They show what they are given and report what the user does; threads, files and models live elsewhere."""
