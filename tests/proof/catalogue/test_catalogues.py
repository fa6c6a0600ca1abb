"""The catalogues of words: they have the texts that lessons and package show, and what is wrong in one is named."""

from __future__ import annotations

import ast
import json
import re

import polib
import pytest
from babel.messages.pofile import read_po
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab_tools.cli import cli
from rmqlab_tools.course.shown_texts import texts_of
from tests.proof.catalogue.catalogues import CODE as ABOUT_TEXTS
from tests.proof.catalogue.catalogues import MODULES, OF_CHECKOUT, SHOWN, WIDTH, Entry, of_entry, problems, update
from tests.proof.catalogue.differences import differences
from tests.proof.notebook_files import write

CELL = "Read `lab.run` in [the rules](rules.md): 30 s, four queues."
GOOD = "见[规则](rules.md)中的 `lab.run`：30 s，4 个队列。"
CODE = """\
rows = [("queue", f"holds {n} message{'s' if n > 1 else ''}")]
rmqlab.show.table("All queues", rows, headers=("who", "what"))"""


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('"""Doc of it."""\ntitle = "Who owns it"', ["Who owns it"]),
        ('f"stores it in queue {message.queue:>3}"', ["stores it in queue {message.queue}"]),
        ("f\"{n} queue{'s' if n > 1 else ''} of {len(all)}\"", ["{n} queues of {all}", "{n} queue of {all}"]),
        ('Table("", ("time", "who"), rows)', ["time", "who"]),
        ('pen.text(1, 2, "broker")', ["broker"]),
        ('rmqlab.sql92("a > 3 AND b IS NULL"); frame.query("one of two == 3"); lab.send("T")', []),
        ('raise ValueError("this is for programmers")', []),
        ('raise BadInput(f"no exercise {name!r}")', ["no exercise {name}"]),
        ('{"delivered": 4, "not yet taken": 2}', ["not yet taken"]),
        ('LIMIT = 4\n"""Says what the limit is."""\nNAMES = ()', []),
        ('counted = 4\n"all of them arrived"', ["all of them arrived"]),
        ('FateStyle(RED, "xx", "×", "gone"); pen.text(1, f"{time} ms")', ["gone"]),
        ('told = f\'rmqlab.check("{name}", answer)\'; raise_(f"class java.lang.String of {name}")', []),
    ],
)
def test_texts_for_people_are_found_and_code_is_not(source, texts):
    assert [text.text for text in texts_of(source)] == texts


@pytest.mark.parametrize(
    ("translated", "what"),
    [
        (GOOD, []),
        (GOOD.replace("4 个", "四个"), []),
        (GOOD.replace("lab.run", "lab.go"), ["code lab.run is missing", "code lab.go is not in the text"]),
        (GOOD.replace("rules.md", "r.md"), ["link to rules.md is missing", "link to r.md is not in the text"]),
        (GOOD.replace("30", "20"), ["figure 30 is missing", "figure 20 is not in the text"]),
        (GOOD.replace("4 个", "5 个"), ["figure 5 is not in the text"]),
        (f"## {GOOD}", ["0 times a heading, but 1 times in the translation"]),
    ],
)
def test_what_differs_from_its_text_is_named(translated, what):
    assert differences(CELL, translated, cell=True) == what


@pytest.fixture
def tree(tmp_path):
    """A small tree: one lesson, one module, catalogues with every entry translated."""
    for name in ("rmqlab_tools/course", "rmqlab_tools/show"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "rmqlab_tools/show/page.py").write_text('TITLE = "Who owns what"\n', encoding="utf-8")
    cells = [new_markdown_cell(CELL, id="text"), new_code_cell(CODE, id="code")]
    write(tmp_path / "notebooks/01_one.ipynb", new_notebook(cells=cells))
    update(tmp_path)
    for path in tmp_path.rglob("*.po"):
        catalogue = polib.pofile(path.read_text(encoding="utf-8"), wrapwidth=WIDTH)
        for entry in catalogue:
            entry.msgstr = GOOD if entry.msgid == CELL else f"译 {entry.msgid}"
        catalogue.save(str(path))
    assert problems(tmp_path) == []
    return tmp_path


def changed(tree, **fields):
    path = tree / "notebooks/locale/zh/01_one.po"
    catalogue = polib.pofile(path.read_text(encoding="utf-8"), wrapwidth=WIDTH)
    entry = catalogue.find("All queues")
    for name, value in fields.items():
        setattr(entry, name, value)
    catalogue.save(str(path))
    return [(problem.text, problem.what) for problem in problems(tree)]


def test_an_entry_not_translated_or_unsure_is_a_problem(tree):
    assert changed(tree, msgstr="") == [("All queues", "is not translated")]
    assert changed(tree, msgstr="所有队列", flags=["fuzzy"]) == [("All queues", "is marked fuzzy")]


def test_a_missing_entry_and_a_stale_one_are_problems_and_an_update_mends_both(tree):
    wrong = changed(tree, msgid="Some queues")
    assert wrong == [("All queues", "is missing"), ("Some queues", "is stale: no cell and no line says it")]
    assert [path.name for path in update(tree)] == ["01_one.po"]
    assert [problem.what for problem in problems(tree)] == ["is not translated"]
    assert update(tree) == []


def test_a_cell_that_changes_makes_its_translation_stale(tree):
    write(tree / "notebooks/01_one.ipynb", new_notebook(cells=[new_markdown_cell("Something else.", id="text")]))
    assert {problem.what.partition(":")[0] for problem in problems(tree)} == {"is missing", "is stale"}


def test_every_catalogue_has_every_text_and_agrees_with_it(capsys):
    """By the verb, so that every page is read once: one JSON value, nothing else on standard output."""
    status = cli.main(["catalogue", "--check", "--json", "-"])
    result = json.loads(capsys.readouterr().out)
    assert result["problems"] == [], "run ./lab catalogue, then translate"
    assert status == 0
    assert result["changed"] == []
    assert all(done == count > 0 for done, count in result["catalogues"].values())


def test_a_module_that_moved_does_not_lose_its_texts_in_silence():
    named = [*MODULES, *OF_CHECKOUT]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_a_file_with_the_marks_of_a_merge_is_named_and_not_written_over(tree):
    path = tree / "notebooks/locale/zh/01_one.po"
    before = "<<<<<<< HEAD\n" + path.read_text(encoding="utf-8")
    path.write_text(before, encoding="utf-8")
    for verb in (problems, update):
        with pytest.raises(BadInput, match=r"01_one\.po: Syntax error in po file .*line 1.*as it was committed"):
            verb(tree)
    assert path.read_text(encoding="utf-8") == before


IDS = {
    "rmqlab_tools/doctor/doctor.py": {"rmqlab doctor"},  # a thread
    "rmqlab_tools/doctor/loss_findings.py": {"dropped by the broker", "dropped by the owner"},  # of JSON
    "rmqlab_tools/doctor/watch.py": {"bold red"},
    "rmqlab/sim/cluster.py": {
        "delay level", "broker uptime", "broker: {label}", "register broker", "revive {queue_id}",
    },
    # names of trials and of a kind of file, shown by `_`
    "rmqlab_tools/course/trials.py": {"a dead machine", "a rolling restart", "the eight messages"},
    "rmqlab_tools/course/my_rules.py": {"a file of rules"},
    # what a task calls its proposals, as code names them
    "rmqlab_tools/course/checks_16.py": {
        "consumer tags", "both ask for both", "every queue, by pull", "subscription by pull", "a group for each tag",
    },
    # names of figures, shown by `_`
    "rmqlab_tools/course/articles/experiments.py": {"send results", "from ids and bodies"},
    "rmqlab_tools/doctor/explain.py": {"said by", "  said by  "},  # a key of headings
    "rmqlab/language.py": {"{SETTING} is {chosen}; it is one of {LANGUAGES}"},  # no language is known then
    "rmqlab_tools/search/explorer/timings.py": {
        "register broker", "thread PullMessageService", "thread RebalanceService", "thread RebalanceService heartbeat",
    },
    "rmqlab_tools/search/plan/checklist.py": {"Have the producers "},  # how a step begins
    "rmqlab_tools/spark/audit/pictures.py": {"no tag"},
}  # fmt: skip
"""Texts of several words that are no words for people, by module."""


def test_every_text_for_people_is_a_message():
    rooms = [*(ROOT / "rmqlab_tools" / "course").glob("*.py"), *(ROOT / "rmqlab_tools" / "show").rglob("*.py")]
    verbs = [*(ROOT / "rmqlab_tools" / "cli").glob("*.py")]
    modules = [room_module for room_module in rooms if room_module.name not in ABOUT_TEXTS] + [
        ROOT / name for name in MODULES
    ]
    bare = {}
    for path in [*modules, *verbs]:
        place = path.relative_to(ROOT).as_posix()
        texts = {shown_text.text for shown_text in texts_of(path.read_text(encoding="utf-8"), raised=path in verbs)}
        left = {text for text in texts if " " in text.strip()} - IDS.get(place, set())
        if left:
            bare[place] = left
    assert bare == {}, "make them with _() or ngettext() of rmqlab.language"


NO_LANGUAGE = {"rmqlab/language.py"}
"""Where a refusal is English: what names the language cannot be read."""


def bare_refusals(source):
    """The lines where `BadInput` is given words that are no message."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args]
    given = [call.args[0] for call in calls if ast.unparse(call.func).rpartition(".")[2] == "BadInput"]
    parts = [
        (argument.lineno, part.value)
        for argument in given if isinstance(argument, ast.Constant | ast.JoinedStr | ast.BinOp)
        for part in (argument.values if isinstance(argument, ast.JoinedStr) else ast.walk(argument))
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]  # fmt: skip
    return sorted({line for line, text in parts if re.search("[A-Za-z]{2}", text)})


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('raise BadInput(f"{path}: no such file")', [1]),
        ('\nraise errors.BadInput("no such file")', [2]),
        ("raise BadInput(f'topics is {topics!r}; right is {{\"T\": 4}}')", [1]),
        ('raise BadInput(f"{where}: {why}")', []),
        ('raise BadInput(_("{path}: no such file", path=path))', []),
    ],
)
def test_a_refusal_in_bare_words_is_found(source, lines):
    assert bare_refusals(source) == lines


def test_every_refusal_is_a_message():
    proof = (path for name in ("commands", "replay") for path in (ROOT / "tests" / "proof" / name).glob("*.py"))
    paths = [*ROOT.glob("rmqlab*/**/*.py"), *proof]
    places = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    bare = {place: lines for place, source in places.items() if (lines := bare_refusals(source))}
    assert set(bare) <= NO_LANGUAGE, f"make them with _() or ngettext() of rmqlab.language: {bare}"


def test_babel_finds_nothing_wrong_in_the_catalogue_of_the_package():
    with (ROOT / "rmqlab" / "locale" / "zh.po").open("rb") as file:
        catalogue = read_po(file, locale="zh_CN")
    for message in catalogue:
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        if not any(re.search(r"%[(srd]", text) for text in ids):  # argparse's; "% o" of a sentence is none
            message.flags.discard("python-format")
    assert catalogue.num_plurals == 1
    assert [(message.id, str(error)) for message, errors in catalogue.check() for error in errors] == []


def test_a_word_that_is_not_the_one_of_its_thing_is_a_problem():
    entry = Entry("a tag", SHOWN, ("rmqlab/one.py",))
    assert of_entry(entry, polib.POEntry(msgid="a tag", msgstr="标签")) == ["says 标签, which is Tag here"]
    assert of_entry(entry, polib.POEntry(msgid="a tag", msgstr="Tag")) == []
