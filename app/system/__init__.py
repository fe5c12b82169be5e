"""The app as a process: paths, crash reports, one instance, updates, macOS."""
