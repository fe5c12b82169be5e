"""Train the demo pair with torch, an extra that neither the app nor its tests install."""

NEEDS_TORCH = """Training the demo pair needs torch. Install it with:
    .venv/bin/python -m pip install --constraint packaging/constraints.txt --editable ".[train]\""""
