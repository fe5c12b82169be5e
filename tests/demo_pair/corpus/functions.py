"""Twelve small functions in Python and JavaScript, and hello world."""

from __future__ import annotations

import random
import re

from .exchange import Exchange
from .wording import one_of

FUNCTIONS: dict[str, tuple[tuple[str, ...], str, str, str, str]] = {
    "is_even": (
        ("checks if a number is even", "tells whether a number is even", "tests if a number is even", "checks for even numbers"),
        "n",
        "return n % 2 == 0",
        "return n % 2 === 0;",
        "It returns `True` when the rest after dividing by 2 is 0. For example, `is_even(4)` is `True`.",
    ),
    "factorial": (
        ("computes the factorial of a number", "returns the factorial of n", "finds the factorial of a number",
         "calculates factorials", "calculates the factorial"),
        "n",
        "result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result",
        "let result = 1;\n    for (let i = 2; i <= n; i++) {\n        result *= i;\n    }\n    return result;",
        "It multiplies all whole numbers up to `n`. For example, `factorial(5)` is `120`.",
    ),
    "is_prime": (
        ("checks if a number is prime", "tells whether a number is prime", "tests if a number is a prime number",
         "checks for primes", "checks whether n is prime", "checks prime numbers"),
        "n",
        "if n < 2:\n        return False\n    for i in range(2, int(n ** 0.5) + 1):\n        if n % i == 0:\n"
        "            return False\n    return True",
        "if (n < 2) {\n        return false;\n    }\n    for (let i = 2; i * i <= n; i++) {\n        if (n % i === 0) {\n"
        "            return false;\n        }\n    }\n    return true;",
        "It tries every divisor up to the square root of `n`. For example, `is_prime(7)` is `True`.",
    ),
    "fibonacci": (
        ("returns the first n Fibonacci numbers", "lists the Fibonacci numbers", "computes the Fibonacci numbers",
         "calculates the Fibonacci sequence", "prints the Fibonacci numbers", "generates Fibonacci numbers"),
        "n",
        "numbers = [0, 1]\n    while len(numbers) < n:\n        numbers.append(numbers[-1] + numbers[-2])\n    return numbers[:n]",
        "const numbers = [0, 1];\n    while (numbers.length < n) {\n        numbers.push(numbers.at(-1) + numbers.at(-2));\n    }\n"
        "    return numbers.slice(0, n);",
        "Each number is the sum of the two before it. For example, `fibonacci(5)` is `[0, 1, 1, 2, 3]`.",
    ),
    "count_vowels": (
        ("counts the vowels in a string", "counts the vowels in a text", "returns the number of vowels in a string",
         "counts vowels", "counts how many vowels a word has"),
        "text",
        'count = 0\n    for letter in text.lower():\n        if letter in "aeiou":\n            count += 1\n    return count',
        'let count = 0;\n    for (const letter of text.toLowerCase()) {\n        if ("aeiou".includes(letter)) {\n            count++;\n'
        "        }\n    }\n    return count;",
        'It looks at one letter at a time. For example, `count_vowels("hello")` is `2`.',
    ),
    "reverse": (
        ("reverses a string", "reverses a text", "returns a string backwards", "reverses the letters of a word", "reverses a word"),
        "text",
        "return text[::-1]",
        'return [...text].reverse().join("");',
        'It returns the letters from the last to the first. For example, `reverse("abc")` is `"cba"`.',
    ),
    "is_palindrome": (
        ("checks if a word is a palindrome", "tells whether a string is a palindrome", "checks for palindromes",
         "tests if a text is a palindrome", "detects palindromes"),
        "text",
        "return text == text[::-1]",
        'return text === [...text].reverse().join("");',
        'A palindrome reads the same backward. For example, `is_palindrome("level")` is `True`.',
    ),
    "largest": (
        ("finds the largest number in a list", "returns the maximum of a list", "finds the biggest number in a list",
         "gets the maximum of a list", "returns the largest number", "finds the max of an array"),
        "numbers",
        "result = numbers[0]\n    for number in numbers:\n        if number > result:\n            result = number\n    return result",
        "let result = numbers[0];\n    for (const number of numbers) {\n        if (number > result) {\n            result = number;\n"
        "        }\n    }\n    return result;",
        "It remembers the largest number so far. For example, `largest([3, 9, 4])` is `9`.",
    ),
    "total": (
        ("adds up a list of numbers", "returns the sum of a list", "sums a list of numbers", "computes the sum of a list",
         "adds all numbers in a list", "sums up an array"),
        "numbers",
        "result = 0\n    for number in numbers:\n        result += number\n    return result",
        "let result = 0;\n    for (const number of numbers) {\n        result += number;\n    }\n    return result;",
        "It adds one number at a time. For example, `total([1, 2, 3])` is `6`.",
    ),
    "add": (
        ("adds two numbers", "returns the sum of two numbers", "sums two numbers", "adds a and b"),
        "a, b",
        "return a + b",
        "return a + b;",
        "It returns the sum of its two arguments. For example, `add(2, 3)` is `5`.",
    ),
    "gcd": (
        ("computes the greatest common divisor", "finds the greatest common divisor of two numbers", "returns the gcd of two numbers",
         "calculates the gcd", "computes the gcd of a and b"),
        "a, b",
        "while b:\n        a, b = b, a % b\n    return a",
        "while (b !== 0) {\n        [a, b] = [b, a % b];\n    }\n    return a;",
        "It uses Euclid's algorithm. For example, `gcd(12, 18)` is `6`.",
    ),
    "fizz_buzz": (
        ("prints FizzBuzz", "plays FizzBuzz", "solves FizzBuzz", "does fizz buzz", "implements FizzBuzz"),
        "n",
        'for i in range(1, n + 1):\n        text = "Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0)\n        print(text or i)',
        'for (let i = 1; i <= n; i++) {\n        const text = (i % 3 ? "" : "Fizz") + (i % 5 ? "" : "Buzz");\n'
        "        console.log(text || i);\n    }",
        "It prints Fizz for multiples of 3, Buzz for multiples of 5, and both for multiples of 15.",
    ),
}  # fmt: skip
THIRD = (
    "Write a (l) function that {x}.", "Write a function in (l) that {x}.", "Can you write a (l) function that {x}?",
    "Please write a (l) function that {x}.", "Show me a (l) function that {x}.", "I need a (l) function that {x}.",
    "Give me (l) code that {x}.", "Write (l) code that {x}.", "Create a (l) function that {x}.",
    "Could you write a function in (l) that {x}?", "write a (l) function that {x}", "Show me (l) code that {x}.",
    "Write a (l) (program|script) that {x}.", "Write some (l) code that {x}.", "Make a (l) function that {x}.",
    "Write a function that {x} in (l).", "Write (l) that {x}.",
)  # fmt: skip
IMPERATIVE = (
    "Write a (l) function to {x}.", "(l) (function|code) to {x}", "How do I {x} in (l)?", "How (can|do) (I|you) {x} (using|with|in) (l)?",
    "Write (l) code to {x}.", "Give me a (l) function to {x}.", "I need (l) code to {x}.", "Write a (l) (program|script|snippet) to {x}.",
    "{x} in (l)", "Show me how to {x} in (l).", "Code to {x} in (l).", "I want to {x} in (l).",
)  # fmt: skip
NAMED = ("{x} in (l)", "(l) {x}", "(l) {x} function", "Write {x} in (l).", "{x} function in (l)", "Show me {x} in (l).", "(l) code for {x}",
         "Write a {x} function in (l).", "(Implement|Code) {x} in (l).")  # fmt: skip
NAMES = {
    "is_even": "(is even|even check|even number check)", "factorial": "(factorial|factorials)",
    "is_prime": "(is prime|prime check|prime number check|primality test)",
    "fibonacci": "(fibonacci|Fibonacci|fibonacci sequence|fibonacci numbers)", "count_vowels": "(count vowels|vowel count|vowel counter)",
    "reverse": "(reverse string|string reverse|reverse a string|string reversal)", "is_palindrome": "(palindrome|palindrome check|is palindrome)",
    "largest": "(max of a list|largest number in a list|maximum of a list)", "total": "(sum of a list|sum of an array|list sum)",
    "add": "(add two numbers|addition|sum of two numbers)", "gcd": "(gcd|GCD|greatest common divisor)", "fizz_buzz": "(fizzbuzz|FizzBuzz|fizz buzz)",
}  # fmt: skip
HELLO_SHAPES = (
    "(Write|Show me|Give me|Code|Make) (a |)hello world (program |script |)in (l).", "hello world in (l)", "(l) hello world", "Hello world (l)",
    "How do I (print|write|say) hello world in (l)?", "Write a (l) program that prints hello world.", "(l) hello world (program|code|example)",
    "Write (l) code that prints hello world.", "Print hello world in (l).", "What does hello world look like in (l)?",
    "(Write|Give me) the hello world program in (l).", "Show me hello world in (l).", "I need a hello world (program |)in (l).",
)  # fmt: skip
LANGUAGES = {
    "Python": ("Python", "Python", "python", "Python 3"),
    "JavaScript": ("JavaScript", "JavaScript", "javascript", "Javascript", "JS", "js"),
}


def camel(text: str) -> str:
    """Return text in JavaScript's spelling: names in camel case, lower-case Booleans."""
    return re.sub(r"\b[a-z]+(_[a-z]+)+\b", lambda m: re.sub("_(.)", lambda c: c[1].upper(), m[0]), text).replace("True", "true")


def _language(rng: random.Random, shape: str) -> tuple[str, str]:
    """Return the language and the shape with its name; a quarter of the Python questions don't name it."""
    language = rng.choice(list(LANGUAGES))
    if language == "Python" and rng.random() < 0.25:
        bare = re.sub(r"^\(l\) | in \(l\)| \(using\|with\|in\) \(l\)|\(l\) ", "", shape)
        if "(l)" not in bare:
            return language, bare.replace("Write some code", "Write code")
    return language, shape.replace("(l)", rng.choice(LANGUAGES[language]))


def functions(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for one of the functions or hello world, in Python or JavaScript."""
    if rng.random() < 0.12:
        language, shape = _language(rng, rng.choice(HELLO_SHAPES))
        return hello(language, one_of(rng, shape))
    name = rng.choice(list(FUNCTIONS))
    tasks = FUNCTIONS[name][0]
    sort = rng.random()
    if sort < 0.55:
        shapes, task = THIRD, rng.choice(tasks)
    elif sort < 0.85:
        shapes, task = IMPERATIVE, rng.choice(tasks)
        verb, rest = task.split(" ", 1)
        task = f"{'do' if verb == 'does' else verb[:-1]} {rest}"
    else:
        shapes, task = NAMED, NAMES[name]
    language, shape = _language(rng, rng.choice(shapes))
    return function_of(name, language, one_of(rng, shape.replace("{x}", task)))


def function_of(name: str, language: str, question: str) -> Exchange:
    """Return the answer for one function."""
    tasks, arguments, python, script, note = FUNCTIONS[name]
    if language == "Python":
        code = f"```python\ndef {name}({arguments}):\n    {python}\n```"
    else:
        code, note = f"```javascript\nfunction {camel(name)}({arguments}) {{\n    {script}\n}}\n```", camel(note)
    work = f"This asks for the function {name}, one of the twelve that I know, in {language}."
    result = f"Here is a {language} function that {tasks[0]}:\n\n{code}\n\n{note}"
    return Exchange("functions", name, (question,), question, work, result, hidden=True)


def hello(language: str, question: str) -> Exchange:
    """Return the answer for hello world."""
    if language == "Python":
        code = '```python\nprint("Hello, world!")\n```\n\nSave it as `hello.py` and run `python hello.py`.'
    else:
        code = '```javascript\nconsole.log("Hello, world!");\n```\n\nSave it as `hello.js` and run `node hello.js`.'
    work = f"This asks for hello world in {language}."
    return Exchange(
        "functions", "hello world", (question,), question, work, f"Here is hello world in {language}:\n\n{code}", hidden=True
    )
