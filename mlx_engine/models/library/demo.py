"""The demo target's replies to questions that it can't answer."""

REFUSAL = (
    "This small demo model can't help with that.\n\n"
    "Choose a larger model, or ask me for a joke, a haiku, a sum, the planets, or a short Python function."
)
CALCULATOR_REFUSAL = "This small demo model can't work that out in its head.\n\nThe calculator can: turn it on, and ask me again."
UNITS_REFUSAL = (
    "This small demo model can't convert that.\n\n"
    "It converts whole numbers of common units of length, weight, volume, and time, and degrees."
)
TWO_QUESTIONS_REFUSAL = (
    "This small demo model can answer only one question at a time.\n\nAsk me the first one alone, and then the other."
)
GERMAN_REFUSAL = (
    "Dieses kleine Demomodell versteht nur Englisch.\n\nWähle ein größeres Modell, oder frag auf Englisch: Tell me a joke."
)
CHINESE_REFUSAL = "这个小演示模型只懂英语。\n\n请选择更大的模型，或者用英语问：Tell me a joke."
REFUSALS = (REFUSAL, CALCULATOR_REFUSAL, UNITS_REFUSAL, TWO_QUESTIONS_REFUSAL, GERMAN_REFUSAL, CHINESE_REFUSAL)
_FIRST_LINES = tuple(refusal.partition("\n")[0] for refusal in REFUSALS)


def is_refusal(text: str) -> bool:
    """Return whether a reply is one of the demo target's refusals."""
    return text.lstrip().startswith(_FIRST_LINES)


def needs_calculator(text: str) -> bool:
    """Return whether a reply says that the calculator would help."""
    return text.lstrip().startswith(CALCULATOR_REFUSAL.partition("\n")[0])
