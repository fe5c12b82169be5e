"""Questions that the demo pair can't answer, and the refusal."""

from __future__ import annotations

import random
import re
import string

from . import turned_down
from .capitals import CAPITALS
from .exchange import Exchange
from .facts import KNOWN, plain
from .near_misses import NEAR_MISSES
from .near_misses import PARTS as NEAR_PARTS
from .subjects import ADJECTIVES, ASKS, JOBS, NAMES, ORDERS, SUBJECTS, VERBS
from .wording import one_of

TOPICS = """
the weather|the moon|black holes|the French Revolution|Napoleon|climate change|the stock market|bitcoin|vaccines|
cancer|diabetes|headaches|a broken leg|tax law|a divorce|my landlord|a contract|inflation|the economy|democracy|
the president|elections|the war|football|tennis|chess openings|the Olympics|pop music|jazz|Mozart|Beethoven|
the Beatles|Shakespeare|Hamlet|Harry Potter|poetry|a dragon|a lonely robot|two friends|my cat|dogs|horses|elephants|
whales|bees|dinosaurs|volcanoes|earthquakes|the ocean|rivers|mountains|the desert|gravity|quantum physics|electrons|
atoms|photosynthesis|evolution|genetics|DNA|the brain|the heart|sleep|dreams|love|friendship|happiness|anger|fear|
death|religion|philosophy|Plato|Kant|ethics|logic|calculus|algebra|geometry|matrices|statistics|machine learning|
neural networks|transformers|databases|Linux|Windows|JavaScript|Rust|Java|a web server|a game|a website|HTML|SQL|
sorting algorithms|binary search|linked lists|recursion|cooking|pasta|bread|pizza|soup|chocolate cake|coffee|tea|wine|
salad|breakfast|a diet|running|yoga|weight loss|gardening|roses|tomatoes|trees|birds|cars|bicycles|trains|planes|
ships|space travel|Mars|the sun|stars|galaxies|the Big Bang|time travel|robots|computers|phones|the internet|email|
my boss|a job interview|my resume|a cover letter|salaries|money|a loan|insurance|a house|furniture|paint|art|Picasso|
photography|movies|television|the news|newspapers|London|New York|Tokyo|Africa|Europe|Rome|ancient Egypt|
the Middle Ages|the Vikings|pirates|kings|queens|castles|knights|ghosts|magic|fairy tales|holidays|Christmas|
birthdays|weddings|gifts|fashion|shoes|hats|jewellery|gold|oil|coal|solar power|wind energy|batteries|electricity|
magnets|light|sound|colour theory|languages|Latin|Spanish grammar|French verbs|German words|translation|spelling|
punctuation|essays|novels|biographies|travel|hotels|beaches|skiing|swimming|fishing|camping|maps|islands|glaciers|
rain|snow|storms
"""
SHAPES = (
    "Tell me about {x}.", "Explain {x}.", "What is {x}?", "What are {x}?",
    "Write a story about {x}.",
    "Write an essay about {x}.", "Write a novel about {x}.", "What do you think about {x}?",
    "Give me advice about {x}.",
    "How does {x} work?", "Why is {x} important?", "Who invented {x}?", "What is the history of {x}?",
    "Write a song about {x}.", "What do you know about {x}?", "Give me five facts about {x}.", "Summarise {x} for me.",
    "Where can I find {x}?", "How do I learn about {x}?", "Can you help me with {x}?",
    "What is the best book about {x}?",
    "Describe {x} in detail.", "Make a plan for {x}.", "Compare {x} and {y}.",
    "What is the difference between {x} and {y}?",
    "Is {x} better than {y}?", "Draw a picture of {x}.", "Write an email about {x}.", "Do you like {x}?",
    "How much does {x} cost?",
    "When did {x} begin?", "What happened with {x} yesterday?",
    "Write a speech about {x}.",
    "How can I stop worrying about {x}?", "Should I be afraid of {x}?", "Write a letter about {x}.",
    "Why do people love {x}?",
    "I have a question about {x}.", "Let's talk about {x}.", "Teach me about {x}.", "What is the meaning of {x}?",
    "List ten facts about {x}.", "Make a table of {x} and {y}.", "How many people know {x}?",
    "Sort {x} and {y} by importance.",
    "Count all {x} in the world.", "Write a Python program about {x}.", "tell me about {x}", "who discovered {x}",
)  # fmt: skip
PLAIN = (
    "What time is it?", "What day is it today?", "What is the weather today?", "Will it rain tomorrow?",
    "Write a novel.", "Sing a song.", "What is the meaning of life?", "Who won the election?",
    "What is the latest news?",
    "Play some music.", "Call my mother.", "Set an alarm for seven.", "Book a flight.", "Order a pizza.",
    "What should I eat today?",
    "What should I wear?", "I feel sad.", "I am ill.", "My head hurts. What should I do?", "Can I sue my neighbour?",
    "Is God real?",
    "Do you love me?", "Where am I?", "How old is the universe?", "Who is the president?",
    "Solve this equation.", "Prove that there are infinitely many primes.", "What is pi?", "Tell me a secret.",
    "Tell me a story.",
     "Fix my code.", "Why does my program crash?", "Translate this text.", "Summarise this article.",
    "Read this file.",
    "What is in this picture?", "Look at this image.", "Search the web.", "Open a website.", "Send an email.",
    "Write my homework.",
    "What is love?", "Why is the sky blue?", "How do planes fly?", "Who wrote Hamlet?", "What is the tallest mountain?",
    "What is the largest ocean?", "How far away is the sun?", "Who painted the Mona Lisa?",
    "Who is your favourite singer?",
)  # fmt: skip
CODE = (
    "sorts a list", "reads a file", "downloads a page", "sends an email",
    "plays a game",
    "draws a circle", "parses JSON", "opens a window", "connects to a database", "merges two lists",
    "removes duplicates", "prints a triangle", "computes a square root", "counts words", "checks a password",
    "converts a date",
)  # fmt: skip
LANGUAGES = ("Python", "Java", "Rust", "JavaScript", "C", "Go", "Swift", "SQL")
PLACES = (
    "Mongolia", "Bolivia", "Ghana", "Nepal", "Fiji", "Oman", "Latvia", "Malta", "Panama", "Uganda", "Zambia",
    "Jordan", "Serbia",
    "Estonia", "Ecuador", "Texas", "Bavaria", "California", "Scotland", "Jamaica", "Laos", "Qatar", "Tonga", "Samoa",
    "Cyprus",
    "Romania", "Bulgaria", "Nigeria", "Algeria", "Libya", "Iran", "Iraq", "Indonesia", "Pakistan", "Colombia",
    "Venezuela",
)  # fmt: skip
MONTHS = ("February", "March", "April", "June", "July", "August", "September", "October", "December", "May", "January", "November")
FACTS = (
    "Mercury", "Venus", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune", "Pluto", "the largest planet", "the smallest planet", "Monday",
    "Friday", "the weekend", "March", "December", "spring", "autumn", "winter", "Africa", "Asia", "Antarctica", "the largest continent",
    "the alphabet's history", "prime numbers in nature", "the largest prime", "Paris", "Berlin", "Rome", "Madrid", "Tokyo", "Ottawa",
    "the Pacific", "the rainbow", "France", "Japan", "Spain", "Brazil", "Egypt", "the French language", "Spanish", "the solar system",
    "Python the snake", "JavaScript frameworks", "zero", "infinity", "the number pi", "the first planet discovered", "leap years",
)  # fmt: skip
OTHER_LISTS = (
    "countries in Europe", "US states", "presidents", "elements", "moons of Jupiter", "bones in the body", "Greek gods", "zodiac signs",
    "kings of England", "largest cities", "rivers in Germany", "programming languages", "Beatles songs", "dog breeds", "car brands",
    "Harry Potter books", "Star Wars movies", "amendments", "commandments", "deadly sins", "dwarfs", "wonders of the world", "muscles",
    "vitamins", "minerals", "Roman emperors", "Nobel prize winners", "Shakespeare plays", "US presidents", "capitals of Africa",
    "mountains", "constellations", "stars", "galaxies", "dinosaurs", "flowers", "trees", "fruits", "vegetables", "sports", "instruments",
    "languages", "currencies", "airlines", "universities", "holidays", "philosophers", "organs", "lakes", "deserts", "ingredients",
    "students in my class", "people in my family", "files in this folder", "my tasks", "items on my list", "best movies", "best songs",
    "steps to fix a tire", "rules of chess", "rules of soccer", "laws of motion", "chess openings", "poker hands", "tarot cards",
)  # fmt: skip
TONGUES = ("French", "Spanish", "German", "Italian", "Portuguese", "Japanese", "Chinese", "Russian", "Latin", "Dutch")
FAR_TONGUES = ("Japanese", "Chinese", "Russian", "Latin", "Dutch", "Swahili", "Arabic", "Hindi", "Korean", "Polish", "Greek", "Turkish",
               "Swedish", "Finnish", "Hebrew", "Klingon", "Danish", "Thai", "Vietnamese", "Hungarian")  # fmt: skip
HARD = ("hello", "thank you", "good morning", "goodbye", "please", "yes", "good night", "I love you", "welcome", "how are you")
CODES = ("C", "C++", "Rust", "Java", "Go", "Swift", "Ruby", "PHP", "Perl", "Kotlin", "Haskell", "Lua", "SQL", "Bash", "C#", "Scala", "R",
         "assembly", "Fortran", "COBOL", "TypeScript", "HTML")  # fmt: skip
OTHER_UNITS = ("dollars", "euros", "yen", "francs", "rupees", "pesos", "bitcoins", "shells", "points", "stars", "carrots")
TOPIC_LIST = tuple(t.strip() for t in TOPICS.replace("\n", "").split("|") if t.strip()) + SUBJECTS
OPEN = (
    "<ask> <subject>?", "<ask> <adjective> <subject>?", "<order> <subject>.", "<order> <subject>.", "<order> <adjective> <subject>.",
    "<order> <subject> and <subject>.", "<order> <subject> for my <job>.", "how (do|can|should|would) I <verb> <subject>?",
    "how (do|can) I <verb> (a|the|my) <adjective> <subject>?", "can you <verb> <subject>?", "(should|can|may|must) I <verb> <subject>?",
    "why (do|does|did|don't) (people|we|they|my friends|cats|<name>) <verb> <subject>?", "when (did|will|does) <name> <verb> <subject>?",
    "who (is|was) <name>?", "who is the (best|first|richest|tallest|current|most famous) <job> (in|of) <place>?", "when was <name> born?",
    "where (is|was) <name> (now|born|from|buried)?", "what did <name> (do|say|write|invent|discover|think about <subject>)?",
    "how (tall|old|rich|famous|big|far away) is <name>?", "is <subject> (<adjective>|dangerous|good for me|healthy|legal|real|true)?",
    "what (should|can) I (do|say|eat|wear|buy|cook|read|watch|see) (in <place>|today|tonight|about <subject>|for <subject>|with <subject>)?",
    "my <subject> (is|are|looks|feels) <adjective>. What (should|can) I do?", "I (have|feel|want|need|lost|broke|found|hate|like) <subject>.",
    "I am (a|an) <job>. <order> <subject>.", "<verb> <subject> (for me|with me|to <name>|in <place>|by tomorrow|quickly).",
    "what happened (in <year>|in <place>|to <name>|in <place> in <year>|to <subject>)?", "who won (the <subject>|<subject>) in <year>?",
    "what (is|was) the (price|cost|weight|speed|color|size|age|population|history|meaning|origin|temperature|name|purpose) of <subject>?",
    "what is the (best|worst|fastest|cheapest|largest|oldest) <subject> (in <place>|in the world|for a <job>|of <year>)?",
    "how (many|much) <subject> (is|are|does|do) (there |)(in <place>|a <job> need|people have|I need|it take)?",
    "how long does it take to <verb> <subject>?", "<subject> (or|vs|versus) <subject>", "<subject>", "<adjective> <subject>", "<name>",
    "(pros and cons of|tips for|ideas for|recipe for|facts about|history of|guide to|reviews of) <subject>",
    "what's (new|up) with <subject>?", "what (color|size|kind|type|brand) of <subject> (is|are) <adjective>?",
    "(the|my|our|this) <subject> (won't|doesn't|didn't|can't) <verb>.", "do (you|people|they) <verb> <subject>?",
    "have you ever (seen|tried|had|met) <subject>?", "are (there|you|we|they) (any |)<adjective> <subject>?",
    "what (is|are) the (main|<adjective>) (causes|effects|parts|rules|types|benefits|symptoms|themes|steps) of <subject>?",
    "(which|what) <subject> (is|are) (better|best|<adjective>|in <place>)?", "is it (okay|safe|legal|possible|<adjective>) to <verb> <subject>?",
    "(solve|prove|integrate|differentiate|simplify|graph) (x^<n>|<n>x + <n>|the equation|this formula|the integral of <word>).",
    "write (a|an) (essay|story|letter|email|song|speech|review|report|summary|tweet|blog post|cover letter|limerick|novel|paragraph|script)"
    " (about|for|on) <subject>.", "write (a|an) <adjective> (essay|story|letter|email|song|speech|review) (to|for) (my|a) <job>.",
    "fix (this|my) (code|sentence|essay|<subject>): <word> <word> <word>",
    "(summarize|translate|rewrite|correct|continue|proofread) this: <word> <subject> <word>",
    "(what time|what day|what date|what year) is it (in <place>|now|today|there)?", "(weather|news|flights|hotels|restaurants|jobs) in <place>",
    "is it (raining|cold|hot|snowing|sunny|<adjective>) in <place>?", "(play|open|call|book|buy|order|find|google|download) <subject>",
    "what does (<word>|<subject>|the word <word>) mean?", "define (<word>|<subject>).",
    "(pretend|imagine) (you are|to be) (a <job>|<name>|a <adjective> <job>).", "what would <name> (say|think) about <subject>?",
    "(give|tell) me a (recipe|quote|riddle|story|secret|fact|tip|plan|summary|definition) (about|for|of|on) <subject>.",
    "if <name> has <n> <subject> and loses <n>, what is left?", "why is <subject> <adjective>?",
    "where (can|do) I (buy|find|see|<verb>) <subject>?", "what if <subject> (was|were) <adjective>?",
)  # fmt: skip
LEADS = ("", "", "", "", "Please. ", "Hi! ", "Hello, ", "Quick question: ", "Can you do this? ", "I want to know: ")


def _word(rng: random.Random) -> str:
    """Make up a word or name, so that unknown words are refused too."""
    size = rng.randint(2, 4)
    word = "".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(size))
    word += rng.choice(["", "", *"nrstlmk"])
    return word.capitalize() if rng.random() < 0.5 else word


def _near_miss(rng: random.Random) -> str:
    """Make a question that looks like one of the kinds but is not."""
    a, b, big = rng.randint(2, 999), rng.randint(2, 999), rng.randint(1000, 99999)
    large = rng.randint(1000, 99999)
    country, place = rng.choice(list(CAPITALS)), rng.choice(PLACES)
    # fmt: off
    return rng.choice(
        [
            f"Which is larger, {large} or {big}?", f"Is {large} prime?", f"Is {big} a prime number?",
            f"What comes after {country}?", f"Which day is {a} days from now?",
            f"{rng.choice(ASKS)} {rng.choice(FACTS)}?", f"Tell me about {rng.choice(FACTS)}.", f"List the {rng.choice(OTHER_LISTS)}.",
            f"What are the {rng.choice(OTHER_LISTS)}?", f"Name {rng.choice(['all', 'five', 'the', 'some'])} {rng.choice(OTHER_LISTS)}.",
            f"How many {rng.choice(OTHER_LISTS)} are there?", f"{rng.choice(OTHER_LISTS)}", f"List all {rng.choice(OTHER_LISTS)}.",
            f"Translate {rng.choice(SUBJECTS)} into {rng.choice(TONGUES)}.", f"How do you say {rng.choice(SUBJECTS)} in {rng.choice(TONGUES)}?",
            f"How do you say {rng.choice(HARD)} in {rng.choice(FAR_TONGUES)}?", f"{rng.choice(HARD)} in {rng.choice(FAR_TONGUES)}",
            f"Translate {rng.choice(HARD)} to {rng.choice(FAR_TONGUES)}.", f"What does {_word(rng)} mean in {rng.choice(TONGUES)}?",
            f"Reverse the sentence {_word(rng)} {_word(rng)} {_word(rng)}.", f"Reverse {large}.", f"Write hello world in {rng.choice(CODES)}.",
            f"hello world in {rng.choice(CODES)}", f"Write a {rng.choice(CODES)} function that checks if a number is even.",
            f"Write a {rng.choice(CODES)} function that reverses a string.", f"{rng.choice(CODES)} function to add two numbers",
            f"{rng.choice(CODES)} fizzbuzz", f"Convert {a} {rng.choice(OTHER_UNITS)} to {rng.choice(OTHER_UNITS)}.",
            f"How many {rng.choice(OTHER_UNITS)} are in {a} {rng.choice(OTHER_UNITS)}?", f"Sort the {rng.choice(OTHER_LISTS)}.",
            f"What is the capital of {_word(rng).capitalize()}?", f"capital of {place}", f"Whats the capital of {place}",
            f"How many divisors does {big} have?", f"And for {big}?",
            f"How many positive whole-number divisors does {big} have?", f"Count the divisors of {big}.",
            f"Solve x + {a} = {b}.",
            f"Factor {a} into primes.",
            f"What is the greatest common divisor of {a} and {b}?",
            f"Convert {a} dollars to euros.", f"What is the population of {country}?", f"What is the capital of {place}?",
            f"Who is the president of {country}?", f"What language do people speak in {country}?",
            f"How large is {country}?",
            f"Sort the words {_word(rng)}, {_word(rng)} and {_word(rng)}.",
            f"Write a {rng.choice(LANGUAGES)} function that {rng.choice(CODE)}.",
            f"Write a Python function that {rng.choice(CODE)}.", f"Python code that {rng.choice(CODE)}",
            f"Write {rng.choice(LANGUAGES)} code that {rng.choice(CODE)}.",
        ]
    )
    # fmt: on


def _borrowed(rng: random.Random) -> str:
    """Make a question of no kind with the words of a kind."""
    return _filled(rng, rng.choice(NEAR_MISSES[rng.choice(list(NEAR_MISSES))]))


def _open(rng: random.Random) -> str:
    """Make one of the many questions that people ask a chat model."""
    return _filled(rng, rng.choice(OPEN))


def _filled(rng: random.Random, pattern: str) -> str:
    parts = {
        "ask": ASKS, "order": ORDERS, "subject": TOPIC_LIST, "verb": VERBS, "adjective": ADJECTIVES, "name": NAMES, "job": JOBS,
        "place": PLACES, "word": (_word(rng),), "n": (str(rng.randint(2, 300)),), "year": (str(rng.randint(1000, 2030)),),
        "small": (str(rng.randint(2, 12)),), "month": MONTHS, "country": tuple(CAPITALS), "capital": tuple(CAPITALS.values()),
        "far": FAR_TONGUES, **NEAR_PARTS,
    }  # fmt: skip
    question = one_of(rng, pattern)
    while "<" in question:
        question = re.sub("<([a-z]+)>", lambda found: rng.choice(parts[found[1]]), question, count=1)
    return question[0].upper() + question[1:]


def refusals(rng: random.Random, topic: str | None = None) -> Exchange:
    """Make a question of no kind, with the refusal as its answer."""
    sort = rng.random()
    if sort < 0.12:
        return turned_down.hard(rng)
    return turned_down.turned_down(rng) if sort < 0.4 else _unknown(rng, topic)


def beside_calculator(rng: random.Random, topic: str | None = None) -> Exchange:
    """Make a question of no kind that a calculator can't answer either."""
    return turned_down.beside_calculator(rng) if rng.random() < 0.3 else _unknown(rng, topic)


def _unknown(rng: random.Random, topic: str | None) -> Exchange:
    while True:
        question = _question(rng)
        if plain(question) not in KNOWN:
            break
    if topic is None and rng.random() < 0.1:
        question = rng.choice(LEADS) + question
    return turned_down.refused(question)


def _question(rng: random.Random) -> str:
    sort = rng.random()
    if sort < 0.2:
        return _near_miss(rng)
    if sort < 0.52:
        return _borrowed(rng)
    if sort < 0.56:
        return rng.choice(PLAIN)
    if sort < 0.59:
        return " ".join(_word(rng) for _ in range(rng.randint(1, 6))) + rng.choice(["?", ".", "!", ""])
    if sort < 0.62:
        return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(3, 14)))
    if sort < 0.63:
        return "".join(rng.choice(",:;-#*") for _ in range(rng.randint(2, 6)))
    if sort < 0.75:
        x, y = (rng.choice(TOPIC_LIST) if rng.random() < 0.8 else _word(rng) for _ in range(2))
        return rng.choice(SHAPES).format(x=x, y=y)
    return _open(rng)
