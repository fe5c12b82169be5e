"""More practice for what goes wrong most. Only the training text has it, so that the fresh questions stay the same."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from . import arithmetic, language, sequences, talk
from .edges import EDGES
from .exchange import Exchange, Maker
from .language import REAL_WORDS
from .newcomers import ANSWERED
from .sequences import FIXED_LISTS, LIST_NAMES, NEIGHBORS
from .wording import one_of, wordings

EXTRA = {
    "talk": 6.0,
    "lists": 4.5,
    "spelling": 3.0,
    "divisors": 2.5,
    "counting": 2.0,
    "functions": 1.5,
    "reversing": 1.0,
    "sorting": 1.0,
    "translation": 0.8,
    "refusals": 4.5,
    "division": 1.5,
    "dates": 1.0,
    "letters": 1.5,
    "facts": 0.7,
    "commands": 0.4,
    "foreign": 0.7,
    "comparison": 0.8,
    "conversion": 1.5,
    "capitals": 0.6,
    "percentages": 1.0,
    "sums": 0.7,
    "multiplication": 0.7,
    "haiku": 0.4,
}
"""How often each kind is practiced, compared with the others."""
BY_HAND = {text.strip("?!. ").lower() for text, _ in ANSWERED}

TALK: dict[str, tuple[str, ...]] = {
    "self": (
        "(are|r) (you|u) (a robot|an ai|ai|human|a human|a real person|a computer|a bot|a chatbot|chat gpt|chatgpt|gpt|gpt4|openai|claude|"
        "siri|alexa|gemini|bard|copilot|deepseek|mistral|llama|qwen|a language model|an llm|a machine|an assistant|like chatgpt)"
        "(| or what| or something| or not)",
        "(is this|are you|so you are|you're|you are) (chatgpt|gpt|claude|an ai|a robot|a bot|a human|a real person|gemini|a chatbot)(, right|)",
        "am i (talking|chatting|speaking|writing) (to|with) (a human|a robot|a person|a bot|an ai|chatgpt|a machine|a computer|claude)",
        "(are you|r u) (a human|human|a person|real) or (a robot|a machine|an ai|a bot|a computer)",
        "(tell me|say) (what|who) you are", "(what|which) (sort|kind|type) of (ai|bot|robot|model|program|thing) are you",
        "(what's|whats|what is) (ur|your) (name|model|model name|real name)", "(got|have you got|do you have) a name",
        "how (many|much) parameters (are in you|does this model have|have you got)", "(how big|what size) is (this|your) model",
        "(who|what) is (this|writing here|answering me)", "(and |)who are you (exactly|really|actually|then)", "your name",
    ),
    "mood": (
        "how('s| is|s) (your|ur) (day|morning|evening|week|life)(| so far| today)", "how (have you been|are you today|do you do today|is life)",
        "(you|u|are you) (ok|okay|good|well|alright|all right)", "(are you|r u) (alive|happy|sad|lonely|having fun|sleepy|hungry|angry)",
        "(everything|all) (ok|okay|good|well|fine)(| with you| today)", "(can|do) you feel (anything|pain|things|joy)", "having a (good|nice) day",
    ),
    "skills": (
        "what (all|else|exactly|things) can (you|u) do", "what are you (for|useful for|made for|there for)",
        "what can i (do|try|use you for|get) (here|with you|with this|first)", "(give|show) me (ideas|some ideas|a list of your skills)",
        "what (questions|tasks|things|topics) (do you|can you|could you) (know|answer|handle|understand|work on)",
        "(what|which) (questions|tasks|topics) (work|are possible|are ok)", "what (should|could|can) i (try|ask first|ask you first|type here)",
        "(are you able to|can you) do (anything|something useful|other things|more)", "how can (you|u) (be useful|help|assist)(| me| us)",
        "(list|tell me|show me) (your skills|your abilities|everything you can do|the things you can do|all you can do)",
    ),
    "thanks": (
        "(ty|thx|thanks|thank you|tysm)( a lot| a ton| a bunch| man| mate| bro| dude| again| so much| my friend| buddy)",
        "(ty|thanks|thank you)(!|!!|!!!)", "(that's|thats|that is|this is) (very |so |really |)(helpful|great|nice|kind|cool|useful|perfect)",
        "(works|worked) (great|well|perfectly)", "you('re| are) (a genius|wonderful|amazing|brilliant|a star|clever|quick)",
        "(much appreciated|appreciate it|i appreciate it|very helpful|so helpful|so kind)",
    ),
    "goodbye": (
        "(ok|okay|alright|well|thanks) (bye|goodbye|bye bye|see you|good night|cya)", "(bye|goodbye|see you|see ya) (demo|slipstream|bot|my friend|soon|mate)",
        "(i'm|im|i am) (off|done|done for today|going now|going to bed|logging off)", "(have a|have a very) (nice|good|great) (day|evening|night|weekend)",
        "(talk|speak) to you (later|soon|tomorrow)", "until (tomorrow|later|then|next time)",
    ),
    "training": (
        "(did|has) (openai|google|anthropic|meta|apple|microsoft|alibaba) (make|made|train|trained|build|built|create|created) you",
        "are you (made|built|trained) by (openai|google|anthropic|meta|apple|microsoft)", "(who|which company) is (your maker|behind you|your creator)",
        "(which|what) company (made|built|trained|created) you", "(where|how) did you (learn|get your knowledge|study)(| this| that)",
    ),
}  # fmt: skip
"""More wordings of some intents of small talk."""

NEXT = (
    *sequences.NEXT_SHAPES, "(the |){x} (after|before) {y}", "(what's|whats|what is) the {x} (after|before) {y}",
    "(which|what) {x} (is next|is right|comes just|is immediately) (after|before) {y}", "(what's|whats) (after|before) {y}",
    "(tell me|say|name) the {x} (after|before) {y}.", "{y} is (after|before) which {x}?", "(next|the next) {x} after {y}",
)  # fmt: skip
LISTED = (
    "{x}?", "{x} (please|pls|plz|in order|names)", "all {x}", "(all|every one) of the {x}", "how many {x} (exist|do we have|do you know)",
    "how many {x} are there", "(list|name|say|give) (me |)(all |)(the |){x}", "(can you|could you|please) (say|name|list|write) (all |)the {x}",
    "(what|which) are (all |)the {x}", "i (need|want) (a list of |)(all |)the {x}", "names of (all |)the {x}",
)  # fmt: skip
COUNT = (
    "(c|C)ount (up |)from {a} to {b}.", "(c|C)ount {a} (to|through|until|up to) {b}.", "(all |the |)numbers from {a} to {b}",
    "(n|N)umbers {a} to {b}", "(c|C)an you count from {a} to {b}?", "(s|S)ay the numbers from {a} to {b}.", "(s|S)tart at {a} and count to {b}.",
    "(w|W)rite (all |)(the |)numbers from {a} to {b}.", "(c|C)ould you count {a} to {b}?", "(l|L)ist (all |)numbers from {a} to {b}.",
)  # fmt: skip
COUNT_DOWN = (
    "(c|C)ount (down|backwards|backward|back) from {a} to {b}.", "(c|C)ountdown from {a} to {b}", "(c|C)ount (down|backwards) {a} to {b}.",
    "(n|N)umbers (down |)from {a} (down to|back to) {b}",
)  # fmt: skip
PRIME = (
    "is {n} (prime|a prime|a prime number|prime or not|one of the primes)", "(prime or not|prime)(:|?) {n}", "is the number {n} (prime|a prime)",
    "{n} (prime|a prime number|is prime)?", "(tell me|can you tell me|do you know) (if|whether) {n} is (prime|a prime number)",
)  # fmt: skip


@cache
def _small_talk(intent: str) -> list[str]:
    """Return every wording of an intent, so that a wording with many variants comes often."""
    return [text for pattern in (*talk.INTENTS[intent][0], *TALK.get(intent, ())) for text in wordings(pattern)]


def _talk(rng: random.Random, topic: str | None) -> Exchange:
    intent = rng.choice(list(TALK) * 2 + list(talk.INTENTS))
    question = rng.choice(_small_talk(intent))
    if question[-1].isalpha():
        question += rng.choice(["", "", "!"] if intent in talk.LEADLESS else ["", "", "?"])
    return replace(talk.talk(rng), topic=intent, operands=(question,), question=question, result=talk.INTENTS[intent][1])


def _lists(rng: random.Random, topic: str | None) -> Exchange:
    if rng.random() < 0.5:
        one = rng.choice(list(NEIGHBORS))
        item = rng.choice(FIXED_LISTS[NEIGHBORS[one]])
        shape = one_of(rng, rng.choice(NEXT))
        after = ("after" in shape) != shape.startswith("{y}")  # "Monday is before which day?" asks for the one after it
        return sequences.neighbor_of(one, item, after, shape.replace("{x}", one).replace("{y}", item))
    name = rng.choice(list(FIXED_LISTS))
    return sequences.list_of(name, one_of(rng, rng.choice(LISTED).replace("{x}", LIST_NAMES[name])))


def _counting(rng: random.Random, topic: str | None) -> Exchange:
    """Ask for few numbers, so that the end comes early."""
    low = rng.randint(0, 100) if rng.random() < 0.8 else 1
    high = low + rng.randint(2, 12)
    if rng.random() < 0.3:
        return sequences.counted(high, low, -1, one_of(rng, rng.choice(COUNT_DOWN)).format(a=high, b=low))
    return sequences.counted(low, high, 1, one_of(rng, rng.choice(COUNT)).format(a=low, b=high))


def _divisors(rng: random.Random, topic: str | None) -> Exchange:
    """Ask for the divisors of a number that takes ten steps or more, or whether a number is prime."""
    if rng.random() < 0.3:
        n = rng.randint(2, 60) if rng.random() < 0.5 else rng.randint(61, 300)
        return arithmetic.prime_of(n, one_of(rng, rng.choice(PRIME)).format(n=n))
    while True:
        exchange = arithmetic.divisors(rng)
        if exchange.topic == "divisors" and exchange.work.count("\n- ") > 9:
            return exchange


def _word(rng: random.Random) -> str:
    """Join the pieces of two words, so that their letters come in other tokens."""
    first, second = rng.choice(REAL_WORDS), rng.choice(REAL_WORDS)
    return (first[: rng.randint(1, 4)] + second[-rng.randint(2, 4) :])[:8]


def _reversing(rng: random.Random, topic: str | None) -> Exchange:
    word = _word(rng)
    return language.reversed_word(word, language.asked(rng, language.REVERSE_SHAPES, word))


def _spelling(rng: random.Random, topic: str | None) -> Exchange:
    word = _word(rng)
    return language.spelled(word, language.asked(rng, language.SPELL_SHAPES, word))


MAKERS: dict[str, tuple[Maker, float]] = {
    "talk": (_talk, 0.6),
    "lists": (_lists, 0.6),
    "counting": (_counting, 0.5),
    "divisors": (_divisors, 0.35),
    "reversing": (_reversing, 0.2),
    "spelling": (_spelling, 0.4),
}
"""For some kinds, what asks for practice, and which share of the first questions of the kind it asks."""
AT_EDGE = 0.35
"""The share of the first questions of a kind that are at its edge."""


def practiced(kind: str, maker: Maker, rng: random.Random) -> Maker:
    """Return the kind's maker, or the one that asks for practice. It never asks a newcomers' question."""
    if kind in EDGES and rng.random() < AT_EDGE:
        practice = EDGES[kind]
    else:
        practice, share = MAKERS.get(kind, (maker, 0.0))
        if rng.random() >= share:
            return maker

    def new(rng: random.Random, topic: str | None) -> Exchange:
        while (exchange := practice(rng, topic)).question.strip("?!. ").lower() in BY_HAND:
            pass
        return exchange

    return new
