"""The main window: menus, toolbar, command palette."""
