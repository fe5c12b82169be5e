"""The demo target's reply to questions outside its training text."""

REFUSAL = (
    "This small demo model can't help with that.\n\n"
    "Choose a larger model, or ask me for a joke, a haiku, a sum, the planets, or a short Python function."
)
_FIRST_LINE = REFUSAL.partition("\n")[0]


def is_refusal(text: str) -> bool:
    """Return whether a reply is the demo target's refusal."""
    return text.lstrip().startswith(_FIRST_LINE)
