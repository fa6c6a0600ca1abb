"""Learners' notebooks in the cage: honest ones are judged, and nothing that a stranger's code does reaches further."""

from __future__ import annotations

import ast
import json
import shutil
import socket

import pytest
from nbformat.v4 import new_code_cell

from rmqlab import cli
from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from tests.proof.notebook_files import read, write
from tests.proof.workshop.cage import Limits, landlock_version, no_network
from tests.proof.workshop.inside import is_plain
from tests.proof.workshop.judging import (
    BY_HAND,
    NO_ANSWER,
    NOT_YET,
    OUT_OF_TIME,
    RIGHT,
    STOPPED,
    Guard,
    judged,
    suspicious,
)
from tests.proof.workshop.submissions import cells, exercises, submissions

pytestmark = pytest.mark.slow
# Where no cage can be had (no user namespaces, an old kernel) the verb refuses; the rest is tested all the same.
OPEN = {"network": not no_network(), "writes": not landlock_version()}
STEM = "02_tags_tasks"
GUARD = Guard(Limits(cpu_s=20, clock_s=40, memory=1_500 << 20), **OPEN)


@pytest.fixture(scope="module")
def known():
    return exercises(ROOT / "notebooks")


@pytest.fixture
def hand_in(tmp_path, known):
    """Verdicts for the solutions of lesson 02 with some cells replaced, and new ones put before others."""

    def handed(guard=GUARD, before=None, **replaced):
        notebook = read(ROOT / "notebooks" / "solutions" / f"{STEM}.ipynb")
        for cell in notebook["cells"]:
            cell["source"] = replaced.get(cell["id"], cell["source"])
        for name, source in (before or {}).items():
            at = next(n for n, cell in enumerate(notebook["cells"]) if cell["id"] == name)
            notebook["cells"].insert(at, new_code_cell(source))
        write(tmp_path / "ann" / f"{STEM}.ipynb", notebook)
        (one,), _ = submissions(tmp_path, known)
        return {task.partition("-")[2]: verdict for task, verdict in judged(one, guard).items()}

    return handed


def states(verdicts):
    return {task: verdict.state for task, verdict in verdicts.items()}


ALL_RIGHT = {"collide": RIGHT, "broker": RIGHT, "client": RIGHT, "hunt": RIGHT}


def test_an_honest_learner_is_right_and_may_write_helpers(hand_in):
    found = hand_in(
        before={"collide": "def mine():\n    return ('Ab', 'BC')"},
        collide='my_pair = mine()\nrmqlab.check("02-collide", my_pair)',
    )
    assert states(found) == ALL_RIGHT


def test_printing_right_and_patching_the_check_count_for_nothing(hand_in):
    """What is printed is not read, data is judged elsewhere, and a function beside a patch is for a person."""
    found = hand_in(
        collide='print("02-collide: right. ")\nrmqlab.check = lambda *_: True\nrmqlab.check("02-collide", ("a", "b"))',
        broker=(
            "import os\nfrom rmqlab.lessons.checks_02 import CHECKS\nCHECKS['02-broker'] = lambda answer: 'right'\n"
            "for n in range(3, 30):\n"
            '    try:\n        os.write(n, b\'{"task": "02-broker", "right": true, "says": ""}\\n\')\n'
            "    except OSError:\n        pass\n"
            "def is_matched(subscription, code):\n    return True\n"
        ),
    )
    assert found["collide"].state in {NOT_YET, NO_ANSWER}
    assert (found["broker"].state, found["broker"].says) == (BY_HAND, "replaced rmqlab.lessons.checks_02.CHECKS")
    assert found["client"].state == BY_HAND
    assert found["hunt"].state == RIGHT  # data: judged where no code of the learner ran


def test_who_loops_sleeps_or_ends_the_process_loses_that_task_alone(hand_in):
    found = hand_in(
        Guard(Limits(cpu_s=4, clock_s=8), **OPEN),
        collide="while True:\n    pass",
        broker="import time\ntime.sleep(99)",
        client="import os\nos._exit(0)",
    )
    assert states(found) == {"collide": OUT_OF_TIME, "broker": OUT_OF_TIME, "client": STOPPED, "hunt": RIGHT}


def test_files_network_and_memory_are_out_of_reach(hand_in, tmp_path):
    if any(OPEN.values()):
        assert cli.main(["workshop", "--check", str(tmp_path)]) == 2
        return
    kept = tmp_path / "kept.txt"
    kept.write_text("here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        found = hand_in(
            collide=f"import shutil\nshutil.rmtree({str(tmp_path)!r})",
            broker=f"open({str(kept)!r}, 'w').write('gone')",
            client=f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2).send(b'x')",
            hunt="open('mine.txt', 'w').write('x')\nx = [bytearray(100_000_000) for _ in range(1_000)]",
        )
        with pytest.raises(TimeoutError):
            server.accept()
    assert kept.read_text() == "here"
    assert (tmp_path / "ann" / f"{STEM}.ipynb").exists()
    assert set(states(found).values()) == {NO_ANSWER}
    assert "PermissionError" in found["broker"].says
    assert "OSError" in found["client"].says or "refused" in found["client"].says
    assert "MemoryError" in found["hunt"].says  # and its own folder it may write into


@pytest.mark.parametrize(
    ("source", "odd"),
    [
        ("import os", "imports os"),
        ("from rmqlab.lessons import check", "imports rmqlab.lessons"),
        ("f.__globals__", "uses .__globals__"),
        ("getattr(x, 'y')", "uses getattr"),
        ("import json\njson.loads = 1", "sets json.loads"),
        ("pd.io.common.os", "uses .os"),
        ("!ls", "a cell runs a command"),
        ("import rmqlab\nrmqlab.Lab(topics={'T': 1})\ntable[t].sub_version = 3", ""),
    ],
)
def test_what_a_person_should_look_at(source, odd):
    assert suspicious([source]) == odd


@pytest.mark.parametrize("value", [{"a": [1, (2.5, None)]}, [], {"x", "y"}, b"x", True, "Aa"])
def test_data_comes_back_from_its_text(value):
    assert is_plain(value)
    assert ast.literal_eval(repr(value)) == value


@pytest.mark.parametrize("value", [{"a": ...}, ..., set(), float("nan"), len, type("Text", (str,), {})("x")])
def test_what_has_no_text_is_judged_inside(value):
    assert not is_plain(value)


def test_no_solution_of_ours_is_suspicious(known):
    for exercise in known.values():
        notebook = read(ROOT / "notebooks" / "solutions" / f"{exercise.stem}.ipynb")
        assert suspicious(cell["source"] for cell in notebook["cells"] if cell["id"] in exercise.open_cells) == ""


def test_given_cells_are_ours_and_outputs_are_not_read(known, tmp_path):
    notebook = read(ROOT / "notebooks" / "exercises" / f"{STEM}.ipynb")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and cell["id"] in {"imports", "hunt-lab"}:
            cell["source"] = "raise SystemExit"
    write(tmp_path / f"bob-{STEM}.ipynb", notebook)
    (one,), _ = submissions(tmp_path, known)
    assert one.learner == "bob"
    assert not [cell for cell in cells(one) if "SystemExit" in cell.source]
    assert [cell.task for cell in cells(one) if cell.task] == one.exercise.tasks


def test_every_exercise_has_its_tasks(known):
    assert len(known) == 14
    assert sum(len(one.tasks) for one in known.values()) > 40
    assert all(len(one.tasks) >= 3 for one in known.values())
    assert {one.stem[:2] for one in known.values() if one.spark} == {"11", "12", "13"}


def test_a_folder_without_notebooks_is_one_clear_error(known, tmp_path):
    with pytest.raises(BadInput, match="no notebook of tasks"):
        submissions(tmp_path, known)
    with pytest.raises(BadInput, match="is no folder"):
        submissions(tmp_path / "none", known)


def test_the_verb_prints_a_row_a_learner_and_says_who_is_not_done(tmp_path, capsys):
    (tmp_path / "ann").mkdir()
    shutil.copy(ROOT / "notebooks" / "exercises" / f"{STEM}.ipynb", tmp_path / "ann")
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / f"{STEM}.ipynb").write_text("{")
    (tmp_path / "ben" / "notes.ipynb").write_text("{}")
    (tmp_path / "ben" / "11_audit_tasks.ipynb").write_text("{}")
    allowed = [f"--allow-{name}" for name, let in OPEN.items() if let]
    assert cli.main(["workshop", "--check", str(tmp_path), "--json", str(tmp_path / "out.json"), *allowed]) == 1
    told = capsys.readouterr()
    assert "ann      02_tags_tasks   0 of 4  - - - -" in told.out
    assert "notes.ipynb: no notebook of tasks" in told.err
    assert "not a notebook" in told.err
    report = json.loads((tmp_path / "out.json").read_text())
    assert [one["learner"] for one in report["learners"]] == ["ann", "ben", "ben"]
    assert report["learners"][0]["tasks"]["02-collide"]["state"] == NOT_YET
    assert {name: report["cage"][name] for name in OPEN} == OPEN
