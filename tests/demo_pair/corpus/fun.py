"""Jokes and haiku. Every joke is right where none is asked for by topic, so that sampling gives another one."""

from __future__ import annotations

import random

from .exchange import Exchange
from .wording import one_of

JOKES = {
    "(programmers|coding|programming|developers)": "Why do programmers confuse Halloween and Christmas? Because Oct 31 equals Dec 25.",
    "(computers|a computer|laptops)": "Why was the computer cold? It left its Windows open.",
    "(math|maths|numbers|mathematics)": "Why was six afraid of seven? Because seven eight nine.",
    "(chickens|a chicken|roads)": "Why did the chicken cross the road? To get to the other side.",
    "(cats|a cat|my cat)": "What do you call a pile of cats? A meowtain.",
    "(dogs|a dog|my dog)": "What do you call a dog magician? A labracadabrador.",
    "(fish|the sea|the ocean)": "What do you call a fish without an eye? A fsh.",
    "(bears|a bear|animals)": "What do you call a bear with no teeth? A gummy bear.",
    "(skeletons|ghosts|halloween)": "Why didn't the skeleton go to the party? It had no body to go with.",
    "(school|books|a book)": "Why was the math book sad? It had too many problems.",
    "(coffee|breakfast|food)": "Why did the coffee call the police? It got mugged.",
    "(space|the moon|astronauts)": "How do you throw a party in space? You planet.",
    "(trees|nature|the forest)": "How do trees get online? They log in.",
    "(bikes|a bicycle|bicycles)": "Why did the bicycle fall over? It was two tired.",
}
HAIKU = {
    "(the sea|the ocean|waves|water|the beach)": "Waves come and then go.\nThe shore keeps a line of foam.\nThe next wave takes it.",
    "(autumn|fall|leaves|october)": "A red leaf lets go.\nIt turns twice in the still air\nand lands without sound.",
    "(spring|flowers|cherry blossoms|blossoms)": "One branch has opened.\nThe bees found it before me.\nSpring needs no notice.",
    "(winter|snow|cold|ice)": "Snow on the fence posts.\nEach one wears a small white hat.\nNo one comes to look.",
    "(summer|the sun|heat)": "Noon without a breeze.\nThe cat finds the one cool stone\nand will not share it.",
    "(rain|storms|clouds|the weather)": "Rain taps on the roof.\nIt has one thing to tell us\nand says it all night.",
    "(the moon|night|stars|the night sky)": "The moon in the pond.\nA frog jumps and breaks the light.\nThe light mends itself.",
    "(mountains|a mountain|hills|nature)": "The mountain is still.\nClouds arrive and ask the way.\nIt does not answer.",
    "(cats|a cat|my cat|dogs)": "My cat sees the door.\nShe wants out, then she wants in,\nthen she wants out, please.",
    "(computers|programming|code|ai|language models|technology|you|yourself)": (
        "Small words on a screen.\nI guess the next ones for you,\nsixteen at a time."
    ),
}
OTHER_TOPICS = (
    "(lawyers|doctors|bananas|pirates|my boss|politics|elephants|teachers|cheese|pizza|robots|penguins|snails|money|love|football|"
    "friendship|music|cars|trains|horses|birds|tea|tacos|dragons|monday|work|my mom|dad|france|kings|a potato|bread|the train|"
    "tigers|a lonely robot|ducks|family|soccer|golf|a tree frog|wine|gardens|libraries|mice|cows|spiders|sleep|dreams|time|death|"
    "silence|bees|butterflies|rivers|london|tokyo|war|peace|happiness|airplanes|phones|physics|chemistry|zombies|vampires)"
)
JOKE_SHAPES = (
    "Tell me a joke.", "(Tell|Give|Say) me (a|one|a good|a funny|a short|another|some) joke.", "Do you know (a|any|any good) (joke|jokes)?",
    "(Make|make) me (laugh|smile).", "Say something funny.", "(Do you have|Have you got|Got) (a joke|any jokes|a good joke)(| for me)?",
    "joke", "a joke", "(Tell|Share) (a|one) joke.", "I want (to hear |)a joke.", "I need a (joke|laugh).", "Know any (good |)jokes?",
    "Can you tell (me |)(a joke|jokes|a funny joke|some jokes)?", "(Crack|Make) a joke.", "Let me hear a joke.", "Be funny.",
    "tell (me |)(a |)(joke|dad joke|short joke|funny joke)", "joke (please|pls)", "How about a joke?", "(Cheer|cheer) me up.",
    "What is (your (best|favorite|funniest) joke|a good joke)?", "Entertain me.",
)  # fmt: skip
HAIKU_SHAPES = (
    "Write (me |)a haiku.", "(Write|Give me|Tell me|Compose|Make|Show me|Recite|Create) (a|one|a short|a nice|another) haiku.",
    "Can you (write|make|compose|do) (a haiku|haikus|haiku|me a haiku)?", "haiku", "a haiku", "I (want|would like|need) a haiku.",
    "Do you know (a|any) haiku?", "How about a haiku?", "haiku (please|pls)", "Let me (read|see) a haiku.", "Make me a haiku.",
)  # fmt: skip
POEM_SHAPES = (
    "Write (me |)a (poem|short poem|little poem).", "(Tell|Give) me a (poem|short poem).", "Can you write (a poem|poems|poetry|me a poem)?",
    "a poem", "poem (please|pls)", "I want a poem.", "Do you know (a|any) (poem|poems)?", "Make (up |)a poem.", "Write some poetry.",
    "Write a (poem|short poem|little poem|rhyme) about (x).",
)  # fmt: skip
MORE = ("Another one.", "Another one!", "One more.", "another", "Another (joke|haiku)?", "(Tell|Give) me another one.", "one more please",
        "Do you have another one?", "(A different|A new) one.", "again", "(next|more)")  # fmt: skip


def _all(table: dict[str, str]) -> list[str]:
    return list(table.values())


def jokes(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a joke, with or without a topic, or for another one."""
    known = _all(JOKES)
    if topic is not None:
        return _exchange(
            rng,
            "jokes",
            one_of(rng, rng.choice(MORE)).replace("haiku", "joke"),
            _after(known, topic),
            "",
            "This asks for another joke.",
            first=True,
        )
    sort = rng.random()
    if sort < 0.4:
        return _exchange(rng, "jokes", one_of(rng, rng.choice(JOKE_SHAPES)), known, "", "This asks for a joke.")
    shape = one_of(
        rng,
        "(Tell me|Tell|Give me|Do you know|Make|Say|tell me|Can you tell me|I want) a (funny |good |short |)joke (about|on|with) ",
    )
    if sort < 0.8:
        names = rng.choice(list(JOKES))
        return _exchange(
            rng, "jokes", f"{shape}{one_of(rng, names)}.", [JOKES[names]], "", "This asks for a joke about something that I know."
        )
    lead = "I don't know a joke about that, but here is another one.\n\n"
    work = "This asks for a joke about something that I have no joke about."
    return _exchange(rng, "jokes", f"{shape}{one_of(rng, OTHER_TOPICS)}.", known, lead, work)


def haiku(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a haiku or a poem, with or without a topic, or for another one."""
    known = _all(HAIKU)
    if topic is not None:
        return _exchange(
            rng,
            "haiku",
            one_of(rng, rng.choice(MORE)).replace("joke", "haiku"),
            _after(known, topic),
            "",
            "This asks for another haiku.",
            first=True,
        )
    sort = rng.random()
    if sort < 0.35:
        return _exchange(rng, "haiku", one_of(rng, rng.choice(HAIKU_SHAPES)), known, "", "This asks for a haiku.")
    if sort < 0.6:
        question = one_of(rng, rng.choice(POEM_SHAPES).replace("(x)", rng.choice([OTHER_TOPICS, *HAIKU])))
        work = "This asks for a poem, and the only poems that I know are haiku."
        return _exchange(rng, "haiku", question, known, "I only know haiku. Here is one.\n\n", work)
    shape = one_of(
        rng, "(Write me|Write|Give me|Compose|Make|Tell me|Can you write|write|I want|Create) a (short |nice |)haiku (about|on) "
    )
    if sort < 0.85:
        names = rng.choice(list(HAIKU))
        return _exchange(
            rng, "haiku", f"{shape}{one_of(rng, names)}.", [HAIKU[names]], "", "This asks for a haiku about something that I know."
        )
    lead = "I don't know a haiku about that, but here is another one.\n\n"
    work = "This asks for a haiku about something that I have no haiku about."
    return _exchange(rng, "haiku", f"{shape}{one_of(rng, OTHER_TOPICS)}.", known, lead, work)


def _after(texts: list[str], told: str) -> list[str]:
    """Return the other texts, in the order in which "another one" tells them, so that none comes twice in a row."""
    at = texts.index(told)
    return [*texts[at + 1 :], *texts[:at]]


def _exchange(
    rng: random.Random, kind: str, question: str, texts: list[str], lead: str, work: str, *, first: bool = False
) -> Exchange:
    chosen = texts[0] if first else rng.choice(texts)
    others = tuple(_shown(lead, text) for text in texts if text != chosen)
    return Exchange(kind, chosen, (question,), question, work, _shown(lead, chosen), hidden=True, others=others)


def _shown(lead: str, text: str) -> str:
    """Return the text with hard line breaks, as Markdown wants them."""
    return lead + text.replace("\n", "  \n")
