"""Prompts for general pairs: chat, code, math, copying and long context. Neighbors differ in kind.

The long ones are a lighthouse's log generated from lists of words, so that a long text needs no long file.
"""

from mlx_engine.bench.prompts import Prompt

_CONFIG = """[server]
host = "0.0.0.0"
port = 8080
workers = 4
timeout = 30

[database]
url = "postgres://localhost/harbour"
pool = 12
retries = 3

[mail]
from = "office@harbour.example"
limit = 200"""

_CLASS = """class Berth:
    def __init__(self, name, length):
        self.name = name
        self.length = length
        self.ship = None

    def free(self):
        return self.ship is None

    def moor(self, ship):
        if not self.free():
            raise ValueError(f"{self.name} is taken by {self.ship}")
        if ship.length > self.length:
            raise ValueError(f"{ship} is too long for {self.name}")
        self.ship = ship

    def leave(self):
        ship, self.ship = self.ship, None
        return ship"""

_LETTER = """Dear Ms Okafor,

thank you for your letter of 3 May. We recieved it only on the 19th, since the ferry did not run for two weeks. The roof of the boat
house has been mended in the meantime, but the two windows on the north side still let the rain in, and one of the gutters hangs lose.
Our carpenter can come on the 2nd or the 4th of June; please let us know which day suits you better. The bill for the roof is enclosed;
their is no hurry with it.

Yours sincerly,
A. Lindqvist, harbour office"""

_WEATHER = ("clear", "haze", "light rain", "fog from the north", "heavy rain", "gale from the west", "snow", "high clouds")
_WORK = (
    "cleaned the lens", "filled the lamp", "painted the rail", "mended the stair", "wrote letters", "checked the horn",
    "wound the clock", "carried coal", "oiled the hinges", "counted the stores",
)  # fmt: skip
_SHIPS = ("Auriga", "Brisling", "Calliope", "Dunlin", "Ebb", "Fulmar", "Grebe", "Halcyon", "Isobel", "Juno", "Kittiwake")


def log(days: int) -> str:
    """Return a log of so many days, with some 45 tokens per day."""
    lines = []
    for day in range(1, days + 1):
        ships = [_SHIPS[(day * step) % len(_SHIPS)] for step in (3, 7)][: 1 + day % 2]
        lines.append(
            f"Day {day}. Wind force {(day * 5) % 9}, {_WEATHER[(day * 3) % len(_WEATHER)]}. Passed: {' and '.join(ships)}. "
            f"{_WORK[(day * 7) % len(_WORK)].capitalize()}, then {_WORK[(day * 3 + 1) % len(_WORK)]}. Oil left: {900 - 3 * day} litres."
        )
    return "\n".join(lines)


GENERAL = (
    Prompt("chat", "I have moved to a town where I know nobody. How do I meet people without it feeling forced?"),
    Prompt(
        "code",
        "Write a Python class for a least-recently-used cache with a time limit for each entry. Explain the choices briefly.",
    ),
    Prompt(
        "maths",
        "A ferry takes 48 minutes downstream and 72 minutes upstream between two piers that are 14.4 km apart. How fast is the ferry in "
        "still water, and how fast is the river? Show the steps.",
    ),
    Prompt("copy", f"Set the port to 9090 and the pool to 20. Print the whole file, otherwise unchanged.\n\n{_CONFIG}"),
    Prompt("long", f"{log(60)}\n\nOn which days was there fog? List each with the ships that passed."),
    Prompt("chat", "Explain to a curious ten-year-old why the moon seems to follow the car."),
    Prompt(
        "code",
        "Write an SQL query that finds, for each month, the three customers with the highest sum of orders. Two tables: "
        "customers(id, name), orders(id, customer_id, placed_at, amount).",
    ),
    Prompt(
        "maths",
        "Find all pairs of positive whole numbers (a, b) with a ≤ b and 1/a + 1/b = 1/12. How many are there? Prove that none is missing.",
    ),
    Prompt("copy", f"Add a type to every parameter and result of this class. Print all of it.\n\n```python\n{_CLASS}\n```"),
    Prompt("chat", "Tell me a short story about a clockmaker who repairs a clock that runs backwards."),
    Prompt(
        "code", "Write a JavaScript function that parses a duration such as “1h 20m 5s” into seconds, with tests for wrong input."
    ),
    Prompt(
        "maths",
        "A box holds 5 red, 4 blue and 3 green marbles. Three are drawn without putting any back. What is the chance that all three "
        "have different colours? Give it as a fraction and explain.",
    ),
    Prompt("copy", f"Correct the spelling mistakes in this letter and change nothing else.\n\n{_LETTER}"),
    Prompt("long", f"{log(160)}\n\nWhen did the Halcyon pass? Give the days, the wind on each, and how much oil was left."),
    Prompt("chat", "Compare renting and buying a flat for someone who may move within five years. Be balanced."),
    Prompt("maths", "The sum of three consecutive odd numbers is 231 more than the largest of them. Which numbers are they?"),
)
