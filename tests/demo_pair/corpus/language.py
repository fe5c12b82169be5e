"""Reversing a word, and greetings in five languages."""

from __future__ import annotations

import random
import re

from .exchange import Exchange
from .subjects import ADJECTIVES, JOBS, SUBJECTS, VERBS
from .wording import one_of

SHORT = re.compile("[a-z]{3,8}$")
WORDS = tuple(
    "apple banana cat dog house mouse tree river table chair hello world python window garden summer winter spring autumn flower "
    "bird horse tiger lion bear fish water fire stone cloud rain snow sun moon star light dark green blue red yellow orange purple "
    "black white pink small large short long fast slow happy sad angry tired hungry bread butter cheese milk sugar salt pepper "
    "coffee tea juice lemon melon grape peach cherry plum pear onion potato carrot tomato bean rice pasta pizza soup cake cookie "
    "candy knife fork spoon plate cup glass bottle paper pencil book letter word number school teacher student friend mother father "
    "sister brother baby child king queen prince castle bridge road street city town village country ocean island beach mountain "
    "valley forest desert field farm market shop store bank hotel train plane ship boat car bus truck wheel engine motor pilot "
    "doctor nurse lawyer baker farmer singer dancer writer painter music song dance movie game ball team sport tennis soccer chess "
    "card coin money gold silver iron copper steel wood glove shirt shoe sock hat coat dress pocket button mirror clock watch phone "
    "radio camera laptop mouse screen keyboard cable robot rocket planet comet galaxy energy power magic dragon ghost wizard witch "
    "monster spider snake frog rabbit turtle monkey zebra camel donkey goat sheep pig cow duck goose eagle owl raven swan whale shark "
    "dolphin crab lobster ant bee wasp fly worm leaf root seed grass hill lake pond stream wave wind storm thunder summit north south "
    "east west left right up down open close start stop begin end first last morning evening night today week month year hour minute "
    "second red stressed drawer level radar civic noon deal live name draw pots star part trap loop pool door room roof floor wall "
    "brick lamp couch pillow blanket towel soap brush comb basket box bag rope chain lock key hammer nail saw drill paint test cat "
    "smile laugh dream sleep walk run jump swim think learn read write speak listen taste smell touch love peace hope faith truth "
    "honor brave quiet clever gentle simple perfect secret silent strange sudden famous modern ancient future memory moment reason "
    "answer question problem idea plan story poem novel model draft target token block slip space alpha delta omega".split()
)
REAL_WORDS = sorted(
    {*WORDS, *(word for text in (*SUBJECTS, *VERBS, *ADJECTIVES, *JOBS) for word in text.split() if SHORT.match(word))}
)
REVERSE_SHAPES = (
    "(Reverse|reverse) (the word |the letters of |)(x).", "(Spell|Write|Say) (the word |)(x) (backwards|backward|in reverse).",
    "What is (the word |)(x) (backwards|backward|spelled backwards|in reverse|reversed)?", "(x) (backwards|backward|reversed|in reverse)",
    "How do you (spell|write) (x) (backwards|backward)?", "(Turn|Flip) (the word |)(x) (around|backwards).",
    "What do you get (when|if) you reverse (the word |)(x)?", "Can you (reverse|flip) (the word |)(x)?",
    "(Put|Write) the letters of (x) in reverse order.",
)  # fmt: skip


def made_up(rng: random.Random, sizes: tuple[int, int] = (2, 3)) -> str:
    """Make up a word of syllables."""
    word = "".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(rng.randint(*sizes)))
    return word + rng.choice(["", "", *"nrstlmk"])


def _short(rng: random.Random) -> str:
    sort = rng.random()
    if sort < 0.7:
        return rng.choice(REAL_WORDS)
    if sort < 0.88:
        return made_up(rng)
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 6)))


def asked(rng: random.Random, shapes: tuple[str, ...], word: str) -> str:
    """Ask about a word, which is sometimes in quotes."""
    quoted = rng.choice(["{}", "{}", "{}", '"{}"', "'{}'"]).format(word)
    return one_of(rng, rng.choice(shapes).replace("(x)", quoted))


def reversing(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to reverse a word of two to eight letters."""
    word = _short(rng)
    shapes = REVERSE_SHAPES if topic is None else ("And (x)?", "(And|Now) the word (x).", "What about (x)?", "(x)?", "now (x)")
    return reversed_word(word, asked(rng, shapes, word))


def reversed_word(word: str, question: str) -> Exchange:
    """Return the worked answer for one word."""
    letters = [f"{i} {letter}" for i, letter in enumerate(word, 1)]
    work = (
        f"The letters of the word, numbered: {', '.join(letters)}.\n\nFrom the last to the first: {', '.join(reversed(letters))}."
    )
    result = f"So {word} backward is **{word[::-1]}**."
    return Exchange("reversing", "reversing", (word,), question, work, result)


SPELL_SHAPES = (
    "Spell (the word |)(x).", "How do you spell (x)?", "How is (x) spelled?", "(x), letter by letter", "spell (x)",
    "What are the letters of (x)?", "Spell out (x).", "Write (x) letter by letter.", "Can you spell (x)?",
)  # fmt: skip


def spelling(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to spell a word. Teaches which letters a token of several letters has."""
    word = rng.choice(REAL_WORDS) if rng.random() < 0.85 else _short(rng)
    shapes = SPELL_SHAPES if topic is None else ("And (x)?", "(And|Now) the word (x).", "What about (x)?", "(x)?", "now (x)")
    return spelled(word, asked(rng, shapes, word))


def spelled(word: str, question: str) -> Exchange:
    """Return the worked answer for one word."""
    letters = [f"{i} {letter}" for i, letter in enumerate(word, 1)]
    work = f"The letters of the word, numbered: {', '.join(letters)}."
    return Exchange("spelling", "spelling", (question,), question, work, f"So {word} is spelled **{'-'.join(word)}**.")


LANGUAGES = ("French", "Spanish", "German", "Italian", "Portuguese")
GREETINGS = {
    "hello": ("Bonjour", "Hola", "Hallo", "Ciao", "Olá"),
    "goodbye": ("Au revoir", "Adiós", "Auf Wiedersehen", "Arrivederci", "Adeus"),
    "thank you": ("Merci", "Gracias", "Danke", "Grazie", "Obrigado"),
    "please": ("S'il vous plaît", "Por favor", "Bitte", "Per favore", "Por favor"),
    "good morning": ("Bonjour", "Buenos días", "Guten Morgen", "Buongiorno", "Bom dia"),
    "good evening": ("Bonsoir", "Buenas noches", "Guten Abend", "Buonasera", "Boa noite"),
    "good night": ("Bonne nuit", "Buenas noches", "Gute Nacht", "Buonanotte", "Boa noite"),
    "how are you": ("Comment ça va ?", "¿Cómo estás?", "Wie geht es dir?", "Come stai?", "Como vai?"),
    "welcome": ("Bienvenue", "Bienvenido", "Willkommen", "Benvenuto", "Bem-vindo"),
    "yes": ("Oui", "Sí", "Ja", "Sì", "Sim"),
    "no": ("Non", "No", "Nein", "No", "Não"),
    "I love you": ("Je t'aime", "Te quiero", "Ich liebe dich", "Ti amo", "Eu te amo"),
}
SAME = {"hello": "(hello|hello|hello|hi)", "goodbye": "(goodbye|goodbye|bye)", "thank you": "(thank you|thank you|thanks)"}
TRANSLATE_SHAPES = (
    "(Translate|translate) (x) (into|to|in) (y).", "How do (you|I|they|people) say (x) in (y)?", "What is (x) in (y)?",
    "(Say|Write) (x) in (y).", "What is the (y) word for (x)?", "(x) in (y)", "What's (x) in (y)?", "(x) (to|into) (y)",
    "How (would|do) you (say|write) (x) in (y)?", "(Tell me|Show me) how to say (x) in (y).", "What is the (y) for (x)?",
    "How to say (x) in (y)", "Can you say (x) in (y)?", "I want to say (x) in (y).", "Teach me to say (x) in (y).",
)  # fmt: skip
ALL_SHAPES = (
    "(Translate|Say|Write) (x) (into|in) (five|5|other|different|many|several) languages.", "How do you say (x) in other languages?",
    "(x) in (five|different|five different) languages", "(Translate|translate) (x).", "Say (x) in (all|five) languages.",
)  # fmt: skip


def translation(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a greeting in one of five languages, or in all of them."""
    if topic is not None:
        phrase, language = topic, rng.choice(LANGUAGES)
        question = one_of(
            rng, rng.choice(["And in (y)?", "(And|Now) (in |into |)(y).", "What about (y)?", "in (y)?"]).replace("(y)", language)
        )
        return _translated(phrase, language, question)
    phrase = rng.choice(list(GREETINGS))
    said = one_of(rng, SAME.get(phrase, phrase))
    said = rng.choice(["{}", "{}", '"{}"', "'{}'"]).format(said)
    if rng.random() < 0.15:
        question = one_of(rng, rng.choice(ALL_SHAPES).replace("(x)", said))
        lines = "\n".join(f"- {language}: {word}" for language, word in zip(LANGUAGES, GREETINGS[phrase], strict=True))
        result = f"Here is {phrase} in five languages:\n\n{lines}"
        return Exchange("translation", phrase, (question,), question, f"The phrase is {phrase}.", result, hidden=True)
    language = rng.choice(LANGUAGES)
    return _translated(phrase, language, one_of(rng, rng.choice(TRANSLATE_SHAPES).replace("(x)", said).replace("(y)", language)))


def _translated(phrase: str, language: str, question: str) -> Exchange:
    word = GREETINGS[phrase][LANGUAGES.index(language)]
    work = f"The phrase is {phrase}, and the language is {language}."
    result = f'In {language}, "{phrase}" is **{word}**.'
    return Exchange("translation", phrase, (question,), question, work, result, hidden=True)
