"""The demo target's reply to questions outside its training text."""

REFUSAL = (
    "This small demo model can't help with that.\n\n"
    "Choose a larger model, or ask me for a joke, a haiku, a sum, the planets, or a short Python function."
)
_REFUSALS = (REFUSAL.partition("\n")[0], "I am only a small demo model, so I cannot help with that.")


def is_refusal(text: str) -> bool:
    """Return whether a reply is the demo target's refusal."""
    return text.lstrip().startswith(_REFUSALS)
