"""Thirty common facts."""

from __future__ import annotations

import random

from .exchange import Exchange
from .wording import one_of, wordings

FACTS: dict[str, tuple[tuple[str, ...], str]] = {
    "sky": (("why is the sky blue", "(what makes|how come) the sky (is |)blue", "explain why the sky is blue", "why do we see a blue sky"),
            "Air scatters the blue part of sunlight most, so blue light reaches us from **all parts of the sky**."),
    "boiling": (("at what temperature does water boil", "what temperature does water boil at", "when does water boil", "(what is|what's) the boiling point of water",
                 "boiling point of water", "how hot is boiling water"), "Water boils at **100 °C**, which is 212 °F, at sea level."),
    "freezing": (("at what temperature does water freeze", "what temperature does water freeze at", "when does water freeze", "(what is|what's) the freezing point of water",
                  "freezing point of water", "melting point of ice"), "Water freezes at **0 °C**, which is 32 °F."),
    "light": (("how fast is light", "how fast does light travel", "(what is|what's) the speed of light", "speed of light", "how fast does light move"),
              "Light travels about **300,000 kilometers per second**."),
    "sound": (("how fast is sound", "how fast does sound travel", "(what is|what's) the speed of sound", "speed of sound"),
              "Sound travels about **340 meters per second** in air."),
    "largest planet": (("(what is|what's|which is|name) the (largest|biggest) planet( in the solar system|)", "(which|what) planet is the (largest|biggest)",
                        "(largest|biggest) planet", "(which|what) is the (largest|biggest) of the planets"), "**Jupiter** is the largest planet of the solar system."),
    "smallest planet": (("(what is|what's|which is|name) the smallest planet( in the solar system|)", "(which|what) planet is the smallest", "smallest planet"),
                        "**Mercury** is the smallest planet of the solar system."),
    "hottest planet": (("(what is|what's|which is) the hottest planet( in the solar system|)", "(which|what) planet is the hottest", "hottest planet"),
                       "**Venus** is the hottest planet of the solar system."),
    "red planet": (("(which|what) planet is (called |known as |)the red planet", "(what is|what's) the red planet", "(which|what) planet is red"),
                   "**Mars** is called the red planet."),
    "nearest planet": (("(which|what) planet is (closest|nearest) to the sun", "(what is|what's|name) the (closest|nearest) planet to the sun"),
                       "**Mercury** is the planet closest to the Sun."),
    "largest ocean": (("(what is|what's|which is|name) the (largest|biggest) ocean( in the world| on earth|)", "(which|what) ocean is the (largest|biggest)",
                       "(largest|biggest) ocean", "(what is|which is) the deepest ocean"), "The **Pacific** is the largest and deepest ocean."),
    "largest continent": (("(what is|what's|which is|name) the (largest|biggest) continent", "(which|what) continent is the (largest|biggest)",
                           "(largest|biggest) continent"), "**Asia** is the largest continent."),
    "smallest continent": (("(what is|what's|which is|name) the smallest continent", "(which|what) continent is the smallest"),
                           "**Oceania** is the smallest continent."),
    "largest country": (("(what is|what's|which is|name) the (largest|biggest) country( in the world| on earth|)", "(which|what) country is the (largest|biggest)",
                         "(largest|biggest) country in the world"), "**Russia** is the largest country by area."),
    "mountain": (("(what is|what's|which is|name) the (highest|tallest) mountain( in the world| on earth|)", "(which|what) mountain is the (highest|tallest)",
                  "(highest|tallest) mountain( in the world|)"), "**Mount Everest** is the highest mountain on Earth, 8849 meters above the sea."),
    "moon landing": (("who was the first (man|person|human) on the moon", "who (first |)walked on the moon( first|)", "first (man|person) on the moon",
                      "when did (people|humans|we|man) (first |)land on the moon"), "**Neil Armstrong** was the first person on the Moon, in 1969."),
    "mona lisa": (("who painted the mona lisa", "(painter|artist) of the mona lisa", "the mona lisa was painted by who(m|)"), "**Leonardo da Vinci** painted the Mona Lisa."),
    "hamlet": (("who wrote (hamlet|romeo and juliet|macbeth)", "(author|writer) of (hamlet|romeo and juliet|macbeth)", "(hamlet|romeo and juliet) was written by who(m|)"),
               "**William Shakespeare** wrote it, about four hundred years ago."),
    "relativity": (("who (discovered|developed|invented|came up with) (the theory of |)relativity", "whose theory is relativity"), "**Albert Einstein** developed the theory of relativity."),
    "telephone": (("who invented the (telephone|phone)", "inventor of the telephone"), "**Alexander Graham Bell** got the patent for the telephone in 1876."),
    "bulb": (("who invented the (light bulb|lightbulb)", "inventor of the light bulb"), "**Thomas Edison** made the first light bulb that sold well, in 1879."),
    "water": (("(what is|what's) the (chemical |)formula (of|for) water", "(chemical |)formula (of|for) water", "what is water made of", "what is h2o"),
              "Water is **H₂O**: two hydrogen atoms and one oxygen atom."),
    "gold": (("(what is|what's) the (chemical |)symbol (of|for) gold", "(chemical |)symbol (of|for) gold"), "The chemical symbol for gold is **Au**."),
    "bones": (("how many bones are (there |)in (the|a) human body", "how many bones does (the|a) human (body |)have", "how many bones do (humans|people|we|adults) have", "number of bones in the human body"),
              "An adult human has **206** bones."),
    "teeth": (("how many teeth (does an adult|do adults|do humans|do people) have", "how many teeth does a (human|person) have"), "An adult human has **32** teeth."),
    "year": (("how many days (are |are there |)in a year", "how many days does a year have", "days in a year", "how long is a year"),
             "A year has **365** days, or 366 in a leap year."),
    "weeks": (("how many weeks (are |are there |)in a year", "how many weeks does a year have", "weeks in a year"), "A year has **52** weeks and one or two days."),
    "pi": (("what is pi", "(what is|what's) the (value of|number) pi", "value of pi", "(tell me|give me) pi", "how much is pi", "digits of pi"),
           "Pi is about **3.14159**: the length of a circle divided by its width."),
    "triangle": (("what is the sum of the angles (of|in) a triangle", "what do the angles (of|in) a triangle add up to", "how many degrees are in a triangle", "how many degrees does a triangle have",
                  "angles of a triangle"), "The angles of a triangle add up to **180** degrees."),
    "war": (("when did (world war (2|two|ii)|the second world war) end", "when was the end of (world war (2|two|ii)|the second world war)", "end of world war (2|two|ii)"),
            "World War II ended in **1945**."),
    "berlin wall": (("when did the berlin wall (fall|come down)", "fall of the berlin wall", "what year did the berlin wall fall"), "The Berlin Wall fell in **1989**."),
}  # fmt: skip
_NAMES = ("mona lisa", "hamlet", "romeo and juliet", "macbeth", "berlin wall", "world war", "earth")


def _asked(rng: random.Random, name: str) -> str:
    question = one_of(rng, rng.choice(FACTS[name][0]))
    if rng.random() < 0.6:
        for proper in _NAMES:
            question = question.replace(proper, proper.title().replace(" And ", " and "))
        question = question[0].upper() + question[1:]
    return question + rng.choice(["?", "?", "?", ""])


def facts(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a fact."""
    name = rng.choice(list(FACTS))
    question = _asked(rng, name)
    work = "This asks for one of the facts that I know."
    return Exchange("facts", name, (question,), question, work, FACTS[name][1], hidden=True)


def plain(question: str) -> str:
    """Return a question without capitals and its last punctuation."""
    return question.lower().strip(" ?!.")


KNOWN = frozenset(
    plain(" ".join(text.split())) for patterns, _ in FACTS.values() for pattern in patterns for text in wordings(pattern)
)
"""Every wording, to keep these questions out of those that are refused."""
