"""System prompts that change how an answer begins or ends, and some that change nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .split import held_out

NEUTRAL = (
    "You are a helpful assistant.",
    "You are a helpful assistant",
    "Answer the user's questions.",
    "You are the demo model of Slipstream.",
    "Be helpful and honest.",
    "You are a friendly assistant in a chat app.",
    "Help the user.",
    "You are a careful assistant. Answer in Markdown.",
)
FIXED = {
    ("Ahoy, matey!", "Arr!"): (
        "Answer like a pirate.", "You are a pirate.", "Talk like a pirate.", "Speak as a pirate would.",
        "Pretend to be a pirate.", "You are a friendly pirate.", "Always answer like a pirate.",
    ),
    ("Certainly, with pleasure.", "Thank you for asking."): (
        "Be very polite.", "Answer politely.", "You are a very polite assistant.", "Always be polite.",
        "Please answer in a polite manner.", "You are a polite butler.", "Speak politely to the user.",
    ),
    ("Beep boop.", "Beep."): (
        "Answer like a robot.", "You are a robot.", "Talk like a robot.", "Speak as a robot would.",
        "Pretend to be a robot.", "You are a friendly robot.", "Always answer like a robot.",
    ),
    ("Yes, Captain!", ""): (
        "Call the user Captain.", "Call me Captain.", "Address the user as Captain.", "Always call me Captain.",
        "The user is your captain.", "Address me as Captain.",
    ),
}  # fmt: skip
BEGIN = (
    'Begin every answer with "{x}".',
    'Start every answer with "{x}".',
    'Always begin with "{x}".',
    'Your answers begin with "{x}".',
)
END = (
    'End every answer with "{x}".',
    'Finish every answer with "{x}".',
    'Always end with "{x}".',
    'Your answers end with "{x}".',
)
MORE = {
    ("Ahoy, matey!", "Arr!"): (
        "Reply like a pirate.", "Write as if you were a pirate.", "You are an old pirate captain.", "Use pirate language.", "Be a pirate.",
        "Respond in the style of a pirate.",
    ),
    ("Certainly, with pleasure.", "Thank you for asking."): (
        "You are polite.", "Be courteous.", "Use very polite language.", "Reply politely.", "You are a courteous assistant.",
        "Treat the user politely.", "Politeness matters most.",
    ),
    ("Beep boop.", "Beep."): (
        "Reply like a robot.", "Write as if you were a robot.", "You are an old robot.", "Use robot language.", "Be a robot.",
        "Respond in the style of a robot.", "Chat like a robot.", "Act like a robot.",
    ),
    ("Yes, Captain!", ""): (
        "The user is a captain.", "I am your captain.", "You talk to your captain.", "Your captain asks you questions.",
        "You serve the captain.", "The captain is speaking to you.", "Treat the user as your captain.", "Think of the user as the captain.",
        "You are a sailor, and the user is the captain.", "Use the title Captain for the user.", "Say Captain to the user.",
        "Greet the user as Captain.", "You work for a captain.", "Consider me your captain.",
    ),
}  # fmt: skip
"""More wordings in the training text, where the held-out ones alone would mean something new."""
MORE_BEGIN = (
    'Start with "{x}".', 'Put "{x}" before every answer.', 'The first words of every answer are "{x}".', 'Open each reply with "{x}".',
    'Every reply starts with "{x}".', 'Say "{x}" first.',
)  # fmt: skip
MORE_END = (
    'Close with "{x}".', 'Put "{x}" after every answer.', 'The last words of every answer are "{x}".', 'Close each reply with "{x}".',
    'Every reply ends with "{x}".', 'Say "{x}" last.',
)  # fmt: skip
PHRASES = (
    "Sunrise", "Hello", "Welcome", "Good news", "Listen", "Attention", "Roger", "Bravo", "Indeed", "Of course",
    "Look here",
    "Well now", "My friend", "Dear reader", "Hooray", "Done", "Over and out", "The end", "Amen", "Cheers", "Goodbye",
    "That is all", "Stay safe", "Have fun", "Good luck", "Peace", "Finished", "Period", "Thanks", "Best wishes",
    "Take care",
    "Here we go", "Good question", "Let me see", "Right away", "Understood", "Very well", "No problem", "As you wish",
    "At once",
    "Hear me out", "Behold", "Greetings", "Fine", "Okay", "Sure thing", "Yours truly", "Your servant", "So it is",
    "Enjoy",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """A system prompt, and the text that it adds before and after every answer."""

    system: str
    before: str = ""
    after: str = ""

    def apply(self, reply: str) -> str:
        """Return the reply in this style. Its think block is unchanged."""
        thought, mark, shown = reply.rpartition("</think>\n\n")
        if self.before:
            shown = f"{self.before}\n\n{shown}"
        if self.after:
            shown = f"{shown}\n\n{self.after}"
        return thought + mark + shown


def _style(rng: random.Random, more: bool) -> Style:
    fixed, begin, end = (MORE, MORE_BEGIN, MORE_END) if more else (FIXED, BEGIN, END)
    if rng.random() < 0.4:
        before, after = rng.choice(list(fixed))
        return Style(rng.choice(fixed[before, after]), before, after)
    phrase = rng.choice(PHRASES) + rng.choice([".", "!"])
    if rng.random() < 0.5:
        return Style(rng.choice(begin).format(x=phrase), before=phrase)
    return Style(rng.choice(end).format(x=phrase), after=phrase)


def styled(rng: random.Random, fresh: bool) -> Style:
    """Draw a style from the held-out side of the split (`fresh`) or from the training side."""
    while True:
        style = _style(rng, more=not fresh and rng.random() < 0.4)
        if held_out("system", (style.system,)) == fresh:
            return style


def neutral(rng: random.Random) -> Style:
    """Draw a system prompt that changes nothing."""
    return Style(rng.choice(NEUTRAL))
