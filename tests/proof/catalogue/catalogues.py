"""The catalogues of this tree: which entries they must have, how they are renewed, and what is wrong in them.

`rmqlab/locale/zh.po` has the package's texts, `notebooks/locale/zh/NAME.po` those of a lesson with its tasks: a text
cell is one entry, and so is each text that a code cell shows. Entries stand in the order of cells and lines. Those of
a page of the site, or of README, are in `docs/locale/zh/LC_MESSAGES/`.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import polib  # type: ignore[import-untyped]
from babel.messages.extract import extract_from_file

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.cli.arguments import texts_of_arguments
from rmqlab_tools.course.in_language import outputs_file
from rmqlab_tools.course.rule_judge import rule_text
from rmqlab_tools.course.shown_texts import MESSAGE_CALLS, names_of, texts_of
from rmqlab_tools.doctor import decoder
from tests.proof.catalogue import outputs
from tests.proof.catalogue.differences import differences
from tests.proof.catalogue.terms import foreign
from tests.proof.site.readme import CHINESE, in_chinese
from tests.proof.site.words import texts_of_pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

LANGUAGES = {"zh": "zh_CN"}
PLURALS = {"zh": "nplurals=1; plural=0;"}
CELL, SHOWN = "a text cell", "shown by code"
STALE_OUTPUT = "was not run since the English cell showed what it shows: ./lab catalogue --run"
QUOTED = "data/articles/"  # what the articles say, in their own words
MISSING, EMPTY = "is missing", "is not translated"
WIDTH = 118
OF_CHECKOUT = (
    "tests/proof/notebook_files.py", "tests/proof/rare_outcomes.py",
    "tests/proof/recorded_outcomes.py", "tests/proof/report.py",
)  # fmt: skip
NO_VERBS = ("cli.py", "bare.py")  # in the folder of the verbs, and none of them
CODE = ("code_in_language.py", "shown_texts.py")  # they are about texts, and show none
# The modules whose texts a lesson or a verb shows, besides all of course/ and show/; of the rest of a verb, its help
# for one, only what it refuses is translated.
MODULES = (
    "rmqlab/broker/broker_config.py", "rmqlab/checkout.py", "rmqlab/errors.py", "rmqlab/events.py", "rmqlab/files.py",
    "rmqlab/filter/filter.py", "rmqlab/filter/sql92/compiler.py", "rmqlab/filter/sql92/errors.py",
    "rmqlab/filter/sql92/parser.py", "rmqlab/filter/sql92/tokens.py", "rmqlab/lab/lab.py", "rmqlab/lab/lab_steps.py",
    "rmqlab/language.py", "rmqlab/run/recorded_events.py", "rmqlab/run/ownership.py", "rmqlab/run/results.py",
    "rmqlab/run/run.py", "rmqlab/run/run_view.py", "rmqlab/scenario/fault_steps.py", "rmqlab/scenario/life_steps.py",
    "rmqlab/scenario/scenario.py", "rmqlab/scenario/scenario_errors.py", "rmqlab/scenario/schedule.py",
    "rmqlab/sim/cluster.py", "rmqlab/sim/quiescence.py", "rmqlab/sim/scenario_inputs.py", "rmqlab/sim/simulate.py",
    "rmqlab/store/config.py", "rmqlab_tools/verbs.py", "rmqlab_tools/course/articles/e1_expected.py",
    "rmqlab_tools/course/articles/experiments.py", "rmqlab_tools/course/articles/report_text.py",
    "rmqlab_tools/doctor/broker_findings.py", "rmqlab_tools/doctor/decoder_entry.py",
    "rmqlab_tools/doctor/diagnosis.py", "rmqlab_tools/doctor/doctor.py", "rmqlab_tools/doctor/explain.py",
    "rmqlab_tools/doctor/expression_findings.py", "rmqlab_tools/doctor/finding.py",
    "rmqlab_tools/doctor/lab_from_snapshot.py", "rmqlab_tools/doctor/loss_findings.py",
    "rmqlab_tools/doctor/member_findings.py", "rmqlab_tools/doctor/queue_findings.py",
    "rmqlab_tools/doctor/group_picture.py", "rmqlab_tools/doctor/read_client.py", "rmqlab_tools/doctor/report.py",
    "rmqlab_tools/doctor/snapshot.py",
    "rmqlab_tools/doctor/snapshot_json.py", "rmqlab_tools/doctor/subscription_findings.py",
    "rmqlab_tools/doctor/take_snapshot.py", "rmqlab_tools/doctor/watch.py", "rmqlab_tools/extras.py",
    "rmqlab_tools/live/endpoint.py", "rmqlab_tools/live/serve_config.py", "rmqlab_tools/live/served_topics.py",
    "rmqlab_tools/live/tls.py", "rmqlab_tools/recordings/store.py", "rmqlab_tools/search/explorer/explanation.py",
    "rmqlab_tools/search/explorer/exploration.py", "rmqlab_tools/search/explorer/explore.py",
    "rmqlab_tools/search/explorer/properties.py", "rmqlab_tools/search/explorer/timings.py",
    "rmqlab_tools/search/expressions/answer.py", "rmqlab_tools/search/expressions/examine.py",
    "rmqlab_tools/search/expressions/sql92_report.py", "rmqlab_tools/search/lint/findings.py",
    "rmqlab_tools/search/lint/meaning.py", "rmqlab_tools/search/lint/members.py",
    "rmqlab_tools/search/plan/change.py", "rmqlab_tools/search/plan/checklist.py",
    "rmqlab_tools/search/plan/planner.py", "rmqlab_tools/search/plan/procedures.py",
    "rmqlab_tools/search/plan/results.py", "rmqlab_tools/show/evidence.py", "rmqlab_tools/show/link.py",
    "rmqlab_tools/spark/audit/audit_report.py", "rmqlab_tools/spark/audit/fate_codes.py",
    "rmqlab_tools/spark/audit/log_extent.py", "rmqlab_tools/spark/audit/queue_check.py",
    "rmqlab_tools/spark/audit/subscription_file.py", "rmqlab_tools/spark/audit/subscriptions.py",
    "rmqlab_tools/spark/audit/totals.py", "rmqlab_tools/spark/audit_store.py", "rmqlab_tools/spark/session.py",
    "rmqlab_tools/spark/store_source.py", "tests/proof/replay/replay.py",
)  # fmt: skip


class Entry(NamedTuple):
    """A text to be translated: what it is, and the cells or lines where it stands."""

    text: str
    kind: str
    places: tuple[str, ...]
    plural: str = ""


class Problem(NamedTuple):
    """What is wrong with an entry of a catalogue."""

    catalogue: str
    place: str
    text: str
    what: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.catalogue}: {self.place}: {self.what}: {' '.join(self.text.split())[:70]!r}"


def wanted(root: Path = ROOT) -> dict[str, list[Entry]]:
    """The entries that each catalogue must have, by the catalogue's path with `LANG` for the language."""
    package = _package(root)
    known = {entry.text for entry in package}
    catalogues = {"rmqlab/locale/LANG.po": package}
    for lesson in sorted((root / "notebooks").glob("*.ipynb")):
        files = [lesson, lesson.parent / "solutions" / f"{lesson.stem}_tasks.ipynb"]
        entries = _lesson([file for file in files if file.exists()], known)
        quiz = root / "data" / "quiz" / f"{lesson.stem.partition('_')[0]}.json"
        catalogues[f"notebooks/locale/LANG/{lesson.stem}.po"] = [*entries, *(_quiz(quiz) if quiz.exists() else ())]
    if root == ROOT:
        for name, texts in texts_of_pages().items():
            catalogues[name] = [Entry(text, CELL, places) for text, places in texts.items()]
    return catalogues


def _package(root: Path) -> list[Entry]:
    tools = root / "rmqlab_tools"
    shown = [*sorted(tools.glob("course/*.py")), *sorted(tools.glob("show/**/*.py"))]
    paths = [path for path in shown if path.name not in CODE]
    paths += [path for module in OF_CHECKOUT if (path := root / module).exists()]
    places_of: dict[str, list[str]] = {}
    paths += [path for shown_text in MODULES if (path := root / shown_text).exists()]
    verbs = sorted(path for path in tools.glob("cli/*.py") if path.name not in NO_VERBS)
    plurals: dict[str, str] = {}
    paths = [*paths, *verbs]
    packages = {*root.glob("rmqlab/**/*.py"), *tools.rglob("*.py")}
    proof = (path for name in ("commands", "replay") for path in root.glob(f"tests/proof/{name}/*.py"))
    others = {*packages, *proof} - set(paths)
    for path in [*paths, *sorted(others)]:
        texts = texts_of(path.read_text(encoding="utf-8"), raised=path in verbs) if path in paths else ()
        for text, plural in [*((known_entry.text.strip(), "") for known_entry in texts), *_messages(path)]:
            places_of.setdefault(text, []).append(path.relative_to(root).as_posix())
            plurals[text] = plural or plurals.get(text, "")
    for path in sorted((root / "data" / "tasks").glob("*.toml")):
        for task_text in _strings(tomllib.loads(path.read_text(encoding="utf-8"))):
            places_of.setdefault(task_text, []).append(path.relative_to(root).as_posix())
    experiments = root / "data" / "experiments.toml"
    for experiment_text in _experiments(experiments) if experiments.exists() else ():
        places_of.setdefault(experiment_text, []).append("data/experiments.toml")
    if (root / "rmqlab" / "rules.py").exists():
        for rule_said in _rules():
            places_of.setdefault(rule_said, []).append("rmqlab/rules.py")
        for sentence in (text for entry in decoder.entries().values() for text in entry.sentences):
            places_of.setdefault(sentence, []).append("data/decoder")
    return [
        Entry(text, SHOWN, tuple(dict.fromkeys(places)), plurals.get(text, "")) for text, places in places_of.items()
    ]


def _messages(path: Path) -> Iterator[tuple[str, str]]:
    """The messages of a module as Babel finds them, and those in f-strings and other messages, where it misses some."""
    for _, extracted, _, _ in extract_from_file("python", path, keywords=MESSAGE_CALLS):
        text, plural = (extracted, "") if isinstance(extracted, str) else extracted
        yield text, plural
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in MESSAGE_CALLS:
            texts = [
                argument.value
                for argument in call.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            ]
            if texts:
                yield texts[0], texts[1] if call.func.id == "ngettext" else ""
    for function in ast.walk(tree):  # what an argument of a verb says in its help
        if isinstance(function, ast.FunctionDef | ast.ClassDef):
            yield from ((text, "") for text in texts_of_arguments(ast.get_docstring(function) or "").values())


def _strings(value: Any) -> Iterator[str]:
    """The texts in what a file of tasks has."""
    if isinstance(value, str):
        yield value
    else:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _experiments(path: Path) -> Iterator[str]:
    """What `reproduce` prints of the experiments in words: names of figures without the client or time in them."""
    for experiment in tomllib.loads(path.read_text(encoding="utf-8"))["experiment"]:
        yield from filter(None, (experiment.get(name) for name in ("title", "verdict", "source", "chosen")))
        for name in experiment["expect"]:
            if " " in name:
                yield re.sub(r"\b(of|by) [A-Z]\w*$", r"\1 {who}", re.sub(r"\bat \d+$", "at {seconds}", name))


def _rules() -> list[str]:
    """What a check says of a rule: the first words of its docstring."""
    return [rule_text(rule.name) for rule in fields(DEFAULT_RULES) if callable(getattr(DEFAULT_RULES, rule.name))]


def _lesson(paths: Iterable[Path], known: set[str]) -> list[Entry]:
    places_of: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            place, source = f"{path.name}#{cell['id']}", "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                places_of.setdefault((source, CELL), []).append(place)
                continue
            for text in (*(shown_text.text.strip() for shown_text in texts_of(source)), *names_of(source)):
                if text not in known:
                    places_of.setdefault((text, SHOWN), []).append(place)
    return [Entry(text, kind, tuple(dict.fromkeys(places))) for (text, kind), places in places_of.items()]


def _quiz(path: Path) -> list[Entry]:
    """What the questions of a lesson say."""
    places_of: dict[str, list[str]] = {}
    for question in json.loads(path.read_text(encoding="utf-8"))["questions"]:
        said = [text for choice in question["choices"] for text in (choice["text"], choice["says"])]
        for text in (question["question"], *said):
            if re.search("[A-Za-z]{2}", text):
                places_of.setdefault(text, []).append(f"{path.parent.name}/{path.name}#{question['id']}")
    return [Entry(text, SHOWN, tuple(dict.fromkeys(places))) for text, places in places_of.items()]


def merged(entries: Sequence[Entry], old: Iterable[polib.POEntry], language: str) -> polib.POFile:
    """The catalogue with these entries and the translations that there are; what is gone is left out."""
    translations = {entry.msgid: entry for entry in old}
    catalogue = polib.POFile(wrapwidth=WIDTH)
    catalogue.metadata = {
        "Language": LANGUAGES[language],
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    if any(entry.plural for entry in entries):
        catalogue.metadata["Plural-Forms"] = PLURALS[language]
    for entry in entries:
        before = translations.get(entry.text)
        catalogue.append(
            polib.POEntry(
                msgid=entry.text,
                msgid_plural=entry.plural,
                msgstr="" if before is None or entry.plural else before.msgstr,
                msgstr_plural=_forms(entry, before),
                tcomment="" if before is None else before.tcomment,
                flags=[] if before is None else before.flags,
                comment=entry.kind,
                occurrences=[(place, "") for place in entry.places],
            )
        )
    return catalogue


def _forms(entry: Entry, before: polib.POEntry | None) -> dict[int, str]:
    """The forms of an entry that counts; one that did not count before keeps its text in the first."""
    if not entry.plural:
        return {}
    return {0: ""} if before is None else before.msgstr_plural or {0: before.msgstr}


def update(root: Path = ROOT) -> list[Path]:
    """Bring every catalogue up to date; return the files that changed."""
    changed = []
    for name, entries in wanted(root).items():
        for language in LANGUAGES:
            path = root / name.replace("LANG", language)
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            text = str(merged(entries, _old(path), language))
            if text != before:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                changed.append(path)
    if root == ROOT and (text := in_chinese((ROOT / "README.md").read_text(encoding="utf-8"))) != _readme():
        CHINESE.write_text(text, encoding="utf-8")
        changed.append(CHINESE)
    return changed


def _old(path: Path) -> list[polib.POEntry]:
    """The entries of a catalogue, none without a file; raise BadInput for what is no catalogue, after a merge say."""
    try:
        return list(polib.pofile(path.read_text(encoding="utf-8"))) if path.exists() else []
    except OSError as error:
        raise BadInput(f"{path}: {error}; mend that line, or take the file as it was committed") from error


def _readme() -> str:
    return CHINESE.read_text(encoding="utf-8") if CHINESE.exists() else ""


def problems(root: Path = ROOT, catalogues: dict[str, list[Entry]] | None = None) -> list[Problem]:
    """What is missing, empty, stale, unsure or at odds with its text, in the order of ``catalogues`` (all)."""
    wrong = []
    for name, entries in (catalogues or wanted(root)).items():
        for language in LANGUAGES:
            catalogue = name.replace("LANG", language)
            path = root / catalogue
            wrong += [Problem(catalogue, *problem) for problem in _of_one(entries, _old(path))]
    for name in outputs.names() if root == ROOT else ():
        for language in LANGUAGES:
            place = outputs_file(name, language).relative_to(root).as_posix()
            wrong += [Problem(place, cell, "", STALE_OUTPUT) for cell in outputs.stale(name, language)]
    if root == ROOT and in_chinese((ROOT / "README.md").read_text(encoding="utf-8")) != _readme():
        wrong.append(Problem(CHINESE.name, "the file", "", "is not what README.md and its catalogue make"))
    return wrong


def _of_one(entries: Iterable[Entry], old: Iterable[polib.POEntry]) -> list[tuple[str, str, str]]:
    translations = {entry.msgid: entry for entry in old if not entry.obsolete}
    texts = set()
    problems = []
    for entry in entries:
        texts.add(entry.text)
        mine = translations.get(entry.text)
        what = [MISSING] if mine is None else of_entry(entry, mine)
        problems += [(entry.places[0], entry.text, fault) for fault in what]
    gone = [("no place", text, "is stale: no cell and no line says it") for text in translations if text not in texts]
    return [*problems, *gone]


def of_entry(entry: Entry, mine: polib.POEntry) -> list[str]:
    """What is wrong in an entry of a catalogue, in words."""
    forms = list(mine.msgstr_plural.values()) if entry.plural else [mine.msgstr]
    if not forms or not all(map(str.strip, forms)):
        return [EMPTY]
    unsure = ["is marked fuzzy"] if "fuzzy" in mine.flags else []
    if not entry.places[0].startswith(QUOTED):
        unsure += [word for text in forms for word in foreign(text)]
    wrong = [
        difference
        for text in forms
        for difference in differences(entry.plural or entry.text, text, cell=entry.kind == CELL)
    ]
    return [*unsure, *wrong]


def state(wrong: Iterable[Problem], catalogues: dict[str, list[Entry]]) -> dict[str, tuple[int, int]]:
    """How many entries of each of ``catalogues`` are translated, by what is ``wrong``, and how many it must have."""
    empty = [problem.catalogue for problem in wrong if problem.what in {MISSING, EMPTY}]
    counts = {}
    for name, entries in catalogues.items():
        for language in LANGUAGES:
            catalogue = name.replace("LANG", language)
            counts[catalogue] = (len(entries) - empty.count(catalogue), len(entries))
    return counts
