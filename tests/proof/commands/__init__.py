"""The verbs of a checkout, one module each, and their table, which `rmqlab.commands` adds to its own.

It is plain data: `./lab` reads it before anything is installed, and an installed package has none of these verbs.
"""

from __future__ import annotations

from typing import Any

VERBS: dict[str, dict[str, Any]] = {
    "conform": {
        "help": "run vector files against this implementation",
        "statuses": {0: "no vector differs", 1: "one differs"},
        "example": "conform data/golden/vectors",
    },
    "agree": {
        "help": "the same filters on odd messages by every way there is, row by row",
        "statuses": {0: "every way gives the same answers", 1: "one differs"},
        "example": 'agree "a > 5" --rows 1000',
        "extras": ("spark", "java"),
    },
    "profile": {
        "help": "what filtering costs with the bloom filter's switch, stage by stage; where it pays",
        "statuses": {0: "it was measured"},
        "example": "profile --messages 3000 --no-java",
    },
    "bench": {
        "help": "the benchmarks, as rates and ratios measured in one run",
        "statuses": {0: "it was measured"},
        "example": "bench eight --runs 1",
        "extras": ("notebook", "spark", "java"),
    },
    "stress": {
        "help": "a broker killed under load, clients that misbehave, mutated frames: is anything lost?",
        "statuses": {0: "nothing was lost, nothing went wrong", 1: "something was"},
        "example": "stress frames --count 1000",
    },
    "rows": {
        "help": "the matrix of mission rows and what shows each",
        "statuses": {0: "every row that counts is shown", 1: "one is not"},
        "example": "rows --missing --only S",
    },
    "catalogue": {
        "help": "the catalogues of words in other languages: bring them up to date, or check them",
        "statuses": {
            0: "they are up to date",
            1: "with --check: an entry is missing, stale, not translated or at odds",
        },
        "example": "catalogue --check --only rmqlab",
        "extras": ("site",),
    },
    "site": {
        "help": "build the site: pages, lessons, playgrounds, in English and Chinese",
        "statuses": {
            0: "it is built, and every link leads somewhere",
            1: "a page has a fault, or a link leads nowhere",
        },
        "example": "site --out build/site",
        "extras": ("site",),
    },
    "bundle": {
        "help": "everything for a room without network in one folder: project, packages, site",
        "statuses": {0: "the folder is there"},
        "example": "bundle --out rmqlab-bundle",
    },
    "workshop": {
        "help": "who of a class solved which tasks; learners' notebooks run in a sandbox",
        "statuses": {0: "every task of everybody is right", 1: "one is not"},
        "example": "workshop --check handed-in",
        "extras": ("notebook", "workshop"),
        "options": ("--spark", "--times"),
        "option_extras": ("spark", "java"),
    },
    "test": {
        "help": "every check: pytest, the committed notebooks, ruff and mypy",
        "statuses": {0: "every check passed", 1: "one did not"},
        "example": "test tests/filter -q",
        "extras": ("doctor", "notebook", "site", "spark", "test", "tls", "java"),
    },
}
