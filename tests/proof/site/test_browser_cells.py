"""What a lesson's kernel in the browser does with a cell that cannot run there, in a shell of IPython here."""

from __future__ import annotations

import json
import re

import pytest
from IPython.core.interactiveshell import InteractiveShell

from rmqlab.checkout import ROOT
from rmqlab.language import LANGUAGES
from tests.proof.notebook_files import read
from tests.proof.site.browser_cells import Cells, NotHere, digest, names_made
from tests.proof.site.browser_lessons import LESSONS

WORDS = json.loads((ROOT / "docs/playgrounds/words.json").read_text(encoding="utf-8"))["en"]["lessons"]
TABLE = "table = frame()\ntable"


def test_the_page_of_it_counts_the_cells_of_each_lesson_and_names_some_of_them():
    """One cell is the page's own. tests/browser runs two of the lessons there, and compares what cannot."""
    page = (ROOT / "docs/how-to/browser.md").read_text(encoding="utf-8")
    there = [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.name[:2] in LESSONS]
    rows = re.findall(r"^\| (\d\db?) \| (\d+) \| (.+) \|$", page, re.MULTILINE)
    assert [row[0] for row in rows] == [path.name.partition("_")[0] for path in there]
    for (_, count, cannot), path in zip(rows, there, strict=True):
        cells = [cell["id"] for cell in read(path)["cells"] if cell["cell_type"] == "code"]
        assert int(count) == len(cells) + 1, path.name
        assert set(re.findall(r"`([a-z0-9-]+)`", cannot)) <= set(cells), path.name


@pytest.fixture
def shell(monkeypatch):
    """A shell whose cells are answered for; `shell.told` has what was shown, `shell.raised` what was raised."""
    made = InteractiveShell()
    made.told, made.raised = [], []
    made.history_manager.enabled = False
    monkeypatch.setattr("IPython.display.display", lambda data, **_: made.told.append(data))
    monkeypatch.setattr("IPython.display.clear_output", made.told.clear)
    monkeypatch.setattr(made, "showtraceback", lambda error, **_: made.raised.append(error[1]))
    cells = Cells(WORDS, {digest(TABLE): [{"text/plain": "it came out"}], digest("quiet = table"): []})
    made.events.register("pre_run_cell", cells.begins)
    made.set_custom_exc((Exception,), cells.failed)

    def frame():
        raise NotHere("pandas")

    made.user_ns["frame"] = frame
    return made


def plain(shell):
    return [data["text/plain"] for data in shell.told]


def test_a_cell_that_needs_what_is_not_there_shows_what_came_out_elsewhere(shell):
    shell.run_cell(TABLE)
    assert plain(shell) == [
        f"{WORDS['no_package'].format(name='pandas')} {WORDS['came_out']}",
        "it came out",
    ]
    assert shell.raised == []


def test_a_cell_that_uses_it_says_so_and_what_a_reader_changed_is_not_known(shell):
    shell.run_cell(TABLE)
    shell.run_cell("quiet = table")
    assert plain(shell)[0].startswith("This cell uses table, which a cell above could not make here.")
    shell.run_cell("other = quiet + 1")
    assert plain(shell)[0].startswith("This cell uses quiet")
    assert plain(shell)[0].endswith("An installed rmqlab runs it.")
    assert shell.raised == []


def test_a_readers_own_mistake_stays_an_error(shell):
    for source in ("never_named", "1 / 0", "open('mine.txt')"):
        shell.run_cell(source)
    assert [type(error) for error in shell.raised] == [NameError, ZeroDivisionError, FileNotFoundError]
    assert shell.told == []


def test_missing_packages_and_files_of_the_data_are_told(shell):
    shell.run_cell("import no_such_package.inside")
    assert "This cell needs no_such_package" in plain(shell)[0]
    shell.run_cell("open('../data/golden/none.jsonl')")
    assert plain(shell)[0].startswith("This cell reads files that are not part of the site.")


def test_what_starts_on_the_network_is_told(shell):
    shell.run_cell('raise RuntimeError("can\'t start new thread")')
    assert plain(shell)[0].startswith("This cell starts a program on the network")


def test_names_of_a_cell_and_of_a_line_for_the_shell():
    made = names_made("import os.path, json as j\ndef f(x):\n    y = x\nclass C: pass\na, (b, *c) = 1, (2, 3)")
    assert made == {"os", "j", "f", "y", "C", "a", "b", "c"}
    assert names_made("%time f(1)") == set()


def test_every_language_has_the_words():
    words = json.loads((ROOT / "docs/playgrounds/words.json").read_text(encoding="utf-8"))
    for language in LANGUAGES:
        assert {"no_package", "no_name", "no_file", "no_network", "came_out", "nothing_shown", "changed"} <= set(
            words[language]["lessons"]
        )
