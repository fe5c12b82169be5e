"""The main window: menus, toolbar, dialogs, and command palette."""
