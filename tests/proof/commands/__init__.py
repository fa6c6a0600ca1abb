"""The verbs of a checkout, one module each, and their table, which `rmqlab_tools.cli` adds to its own.

It is plain data: `./lab` reads it before anything is installed, and an installed package has none of these verbs.
"""

from __future__ import annotations

from typing import Any

from rmqlab.language import N_

PACKAGE = "tests.proof.commands"
# What verbs and functions of the packages ask for, where there is a checkout (`rmqlab.checkout.part`).
PARTS = {
    "replay": "tests.proof.replay.replay",
    "outcomes": "tests.proof.recorded_outcomes",
    "report": "tests.proof.report",
    "class_archive": "tests.proof.class_archive",
    "exercises": "tests.proof.exercises",
    "notebook_files": "tests.proof.notebook_files",
}
VERBS: dict[str, dict[str, Any]] = {
    "conform": {
        "help": N_("run vector files against this implementation"),
        "statuses": {0: N_("no vector differs"), 1: N_("one differs")},
        "example": "conform data/golden/vectors",
    },
    "agree": {
        "help": N_("the same filters on odd messages by every way there is, row by row"),
        "statuses": {0: N_("every way gives the same answers"), 1: N_("one differs")},
        "example": 'agree "a > 5" --rows 1000',
        "extras": ("spark", "java"),
    },
    "replay": {
        "help": N_("feed a recording of a real broker to this one and compare every answer"),
        "statuses": {0: N_("every answer is the recorded one"), 1: N_("one differs")},
        "example": "replay data/golden/broker-4.8.0/lite",
    },
    "profile": {
        "help": N_("what filtering costs with the bloom filter's switch, stage by stage; where it pays"),
        "statuses": {0: N_("it was measured")},
        "example": "profile --messages 3000 --no-java",
    },
    "bench": {
        "help": N_("the benchmarks, as rates and ratios measured in one run"),
        "statuses": {0: N_("it was measured")},
        "example": "bench eight --runs 1",
        "extras": ("notebook", "spark", "bench", "java"),
    },
    "stress": {
        "help": N_("a broker killed under load, clients that misbehave, mutated frames: is anything lost?"),
        "statuses": {0: N_("nothing was lost, nothing went wrong"), 1: N_("something was")},
        "example": "stress frames --count 1000",
        "extras": ("notebook", "source", "spark"),
    },
    "rows": {
        "help": N_("the matrix of mission rows and what shows each"),
        "statuses": {0: N_("every row that counts is shown"), 1: N_("one is not")},
        "example": "rows --missing --only S",
    },
    "catalogue": {
        "help": N_("the catalogues of words in other languages: bring them up to date, or check them"),
        "statuses": {
            0: N_("they are up to date"),
            1: N_("with --check: an entry is missing, stale, not translated or at odds"),
        },
        "example": "catalogue --check --only rmqlab",
        "extras": ("site",),
    },
    "site": {
        "help": N_("build the site: pages, lessons, playgrounds, in English and Chinese"),
        "statuses": {
            0: N_("it is built, and every link leads somewhere"),
            1: N_("a page has a fault, or a link leads nowhere"),
        },
        "example": "site --out build/site",
        "extras": ("site",),
    },
    "bundle": {
        "help": N_("everything for a room without network in one folder: project, packages, site"),
        "statuses": {0: N_("the folder is there")},
        "example": "bundle --out rmqlab-bundle",
    },
    "workshop": {
        "help": N_("who of a class solved which tasks; learners' notebooks run in a sandbox"),
        "statuses": {0: N_("every task of everybody is right"), 1: N_("one is not")},
        "example": "workshop --check handed-in",
        "extras": ("notebook", "workshop"),
        "options": ("--spark", "--times"),
        "option_extras": ("spark", "java"),
    },
    "test": {
        "help": N_("every check: pytest, the committed notebooks, ruff and mypy"),
        "statuses": {0: N_("every check passed"), 1: N_("one did not")},
        "example": "test tests/filter -q",
        "extras": (
            "bench",
            "completion",
            "doctor",
            "notebook",
            "site",
            "source",
            "spark",
            "test",
            "tls",
            "workshop",
            "java",
        ),
    },
}
