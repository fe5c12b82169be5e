"""The sets of prompts that papers about speculative decoding measure.

Repos, wordings, and token limits are those of the DFlash paper's own benchmark, so that tokens per round can be compared.
"""

from dataclasses import dataclass
from string import Formatter

TOKEN_LIMIT = 2048  # tokens per reply in the papers
PROMPT_LIMIT = 128  # prompts of each set in the papers


@dataclass(frozen=True)
class PublishedSet:
    """A file of prompts in a dataset on the hub, at one commit.

    Args:
        license: as the dataset's page states it.
        templates: texts of a prompt with names of fields. The first one whose fields all have text is used.
    """

    repo: str
    revision: str
    file: str
    license: str
    templates: tuple[str, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that the templates use."""
        return tuple(dict.fromkeys(field for template in self.templates for field in fields_of(template)))


def fields_of(template: str) -> list[str]:
    """Return the names of the fields in a template."""
    return [name.partition("[")[0] for _, name, _, _ in Formatter().parse(template) if name]


_STEP_BY_STEP = "\nPlease reason step by step, and put your final answer within \\boxed{{}}."
_MAKE_IT_PASS = "Write a solution to the following problem and make sure that it passes the tests:\n```python\n{prompt}\n```"

PUBLISHED_SETS = {
    "gsm8k": PublishedSet(
        "openai/gsm8k",
        "740312add88f781978c0658806c59bc2815b9866",
        "main/test-00000-of-00001.parquet",
        "MIT",
        ("{question}" + _STEP_BY_STEP,),
    ),
    "math500": PublishedSet(
        "HuggingFaceH4/MATH-500",
        "6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
        "test.jsonl",
        "not stated",
        ("{problem}" + _STEP_BY_STEP,),
    ),
    "humaneval": PublishedSet(
        "openai/openai_humaneval",
        "7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544",
        "openai_humaneval/test-00000-of-00001.parquet",
        "MIT",
        (_MAKE_IT_PASS,),
    ),
    "mbpp": PublishedSet(
        "google-research-datasets/mbpp",
        "4bb6404fdc6cacfda99d4ac4205087b89d32030c",
        "sanitized/test-00000-of-00001.parquet",
        "CC BY 4.0",
        ("{prompt}",),
    ),
    "mt-bench": PublishedSet(  # the first question of each chat
        "HuggingFaceH4/mt_bench_prompts",
        "e3a795c5e9a82ee40611c416b8a7786c73198991",
        "raw/question.jsonl",
        "Apache 2.0",
        ("{prompt[0]}",),
    ),
    "alpaca": PublishedSet(
        "tatsu-lab/alpaca",
        "dce01c9b08f87459cf36a430d809084718273017",
        "data/train-00000-of-00001-a09b74b3ef9c3b56.parquet",
        "CC BY-NC 4.0",
        ("{instruction}\n\nInput:\n{input}", "{instruction}"),
    ),
}
