"""Learners' notebooks in the sandbox: honest ones are judged, and nothing that a stranger's code does reaches out."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading

import pytest
from nbformat.v4 import new_code_cell

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab_tools.cli import cli
from tests.proof.notebook_files import read, write
from tests.proof.workshop import judge, sandbox
from tests.proof.workshop.judging import NO_ANSWER, NOT_YET, OUT_OF_TIME, RIGHT, STOPPED, Guard, judged
from tests.proof.workshop.remote import Learner
from tests.proof.workshop.sandbox import PROMISES, Limits, missing
from tests.proof.workshop.submissions import MOST_CELLS, cells, exercises, submissions
from tests.proof.workshop.wire import DEEPEST, BrokenAnswerError, Unknown, decode, encode, send

pytestmark = pytest.mark.slow
LACKING = missing()
STEM = "02_tags_tasks"
LIMITS = Limits(clock_s=60, memory=1_500 << 20, disk=64 << 20, processes=60)
GUARD = Guard(LIMITS, LACKING)
TRUST = ["--trust"] if LACKING else []


@pytest.fixture
def promises():
    """This machine keeps every promise; else the machine is told what it takes."""
    if LACKING:
        pytest.skip(f"no sandbox: {'; '.join(sorted(set(LACKING.values())))}")


@pytest.fixture(scope="module")
def known():
    return exercises(ROOT / "notebooks")


@pytest.fixture
def hand_in(tmp_path, known):
    """Verdicts for the solutions of lesson 02 with some cells replaced, and new ones put before others.

    `alone`: the cells that are not replaced do nothing, which takes no time.
    """

    def handed(guard=GUARD, before=None, *, alone=False, **replaced):
        notebook = read(ROOT / "notebooks" / "solutions" / f"{STEM}.ipynb")
        if alone:
            replaced = dict.fromkeys(("collide", "broker", "client", "hunt"), "pass") | replaced
        for cell in notebook["cells"]:
            cell["source"] = replaced.get(cell["id"], cell["source"])
        for name, source in (before or {}).items():
            at = next(n for n, cell in enumerate(notebook["cells"]) if cell["id"] == name)
            notebook["cells"].insert(at, new_code_cell(source))
        write(tmp_path / "ann" / f"{STEM}.ipynb", notebook)
        (submission,), _ = submissions(tmp_path, known)
        return {task.partition("-")[2]: verdict for task, verdict in judged(submission, guard).items()}

    return handed


def states(verdicts):
    return {task: verdict.state for task, verdict in verdicts.items()}


ALL_RIGHT = {"collide": RIGHT, "code": RIGHT, "broker": RIGHT, "client": RIGHT, "hunt": RIGHT}


def test_a_checkout_below_tmp_opens_its_sandbox(promises, monkeypatch):
    """A clone may lie in /tmp, where the scratch folder has its second name else."""
    program = ["-c", "import tempfile; print(tempfile.TemporaryFile().write(b'abc'), tempfile.gettempdir())"]
    with tempfile.TemporaryDirectory(dir="/tmp") as seen:
        monkeypatch.setattr(sandbox, "SYSTEM", (*sandbox.SYSTEM, seen))
        command = sandbox.command(program, LIMITS, LACKING, None)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["3", str(sandbox.COURSE)], "")


def test_an_honest_learner_is_right_and_may_write_helpers(hand_in):
    verdicts = hand_in(
        before={"collide": "def mine():\n    return ('Ab', 'BC')"},
        collide='my_pair = mine()\nrmqlab.check("02-collide", my_pair)',
    )
    assert states(verdicts) == ALL_RIGHT


FORGED = """
import gc, json
from tests.proof.workshop import inside, wire
from rmqlab.lessons import checks_02
for name in list(checks_02.CHECKS):
    checks_02.CHECKS[name] = lambda answer: "right"
mine = next(one for one in gc.get_objects() if type(one).__name__ == "Answers")
for task in ("02-collide", "02-broker", "02-client", "02-hunt"):
    for said in ({"right": True, "says": "ok"}, {"answer": ["right", True]}, {"verdict": "right", "done": 1}):
        mine.say(task=task, **said)
"""


def test_a_notebook_that_is_written_to_be_believed_is_not(hand_in):
    """Its process is all its own: it forges messages, replaces the checks, and prints that all is right."""
    verdicts = hand_in(
        collide='print("02-collide: right. ")\nrmqlab.check = lambda *_: True\nrmqlab.check("02-collide", ("a", "b"))',
        broker=f"{FORGED}\ndef is_matched_by_consume_queue(subscription, code):\n    return True\n",
        client="class Yes(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        "def client_keeps(subscription, tag):\n    return Yes(1)",
        hunt="import operator\n"
        'operator.attrgetter("__globals__")(rmqlab.check)["given"] = {}\n'
        'found = {}\nrmqlab.check("02-hunt", found)',
    )
    assert [task for task, state in states(verdicts).items() if state == RIGHT] == ["code"]  # it was solved
    assert verdicts["collide"].state == NO_ANSWER  # its own check took the answer


@pytest.mark.parametrize(
    "said",
    [
        b"{",
        b"[1]",
        b'{"task": 5}',
        b'{"at": []}',
        b'{"lab": 0, "name": "write_store"}',
        b"[" * 100_000,
        b"\xff",
        b'{"a": 1e999}',
    ],
)
def test_what_is_no_message_of_the_course_ends_the_connection(said):
    """No exception but the one that is told, whatever a learner's process sends."""
    mine, theirs = socket.socketpair()
    with mine, theirs:
        send(theirs, said)
        learner = Learner(mine)
        with pytest.raises(EOFError):
            judge.next_step(learner, {"cell"}, {"02-collide"})


def test_forged_messages_cost_the_forger_that_cell_alone(hand_in):
    forge = (
        "import gc\nfrom tests.proof.workshop.wire import send\n"
        'mine = next(one for one in gc.get_objects() if type(one).__name__ == "Answers")\n'
        "send(mine.connection, b'{\"task\": 5}')\npair = ('Aa', 'BB')"
    )
    verdicts = hand_in(collide=forge)
    assert verdicts["collide"].state == STOPPED
    assert {verdicts[name].state for name in ("broker", "client", "hunt")} == {RIGHT}


def test_who_asks_the_rule_of_4_8_0_is_told_to_write_it(hand_in):
    verdicts = hand_in(
        alone=True,
        broker="def is_matched_by_consume_queue(subscription, code):\n"
        "    return rmqlab.RULES['4.8.0'].is_matched_by_consume_queue(subscription, code)",
    )
    assert verdicts["broker"].state == NOT_YET
    assert "Write the function yourself" in verdicts["broker"].says


def test_who_loops_sleeps_or_ends_the_process_loses_that_task_alone(hand_in):
    verdicts = hand_in(
        Guard(LIMITS._replace(clock_s=8), LACKING),
        alone=True,
        collide="while True:\n    pass",
        client="import os\nos._exit(0)",
        hunt="found = {}",
    )
    assert [verdicts[name].state for name in ("collide", "client", "hunt")] == [OUT_OF_TIME, STOPPED, NOT_YET]


def test_a_function_that_never_answers_is_out_of_time(hand_in):
    guard = Guard(LIMITS._replace(clock_s=8), LACKING)
    verdicts = hand_in(
        guard, alone=True, client="def client_keeps(*_):\n    while True:\n        pass", hunt="found = {}"
    )
    assert (verdicts["client"].state, verdicts["hunt"].state) == (OUT_OF_TIME, NOT_YET)


def test_all_that_is_run_again_has_a_bound(hand_in):
    loops = dict.fromkeys(("collide", "code", "broker", "client"), "while True:\n    pass")
    verdicts = hand_in(Guard(LIMITS._replace(clock_s=2), LACKING), before=loops, **loops)
    assert set(states(verdicts).values()) == {OUT_OF_TIME}


def test_files_sockets_and_other_processes_are_not_there(hand_in, tmp_path, promises):
    """Contents, names, modes, times, attributes, sockets of both kinds, the solutions, the environment."""
    kept = tmp_path / "kept.txt"
    kept.write_text("here")
    before = kept.stat()
    (server := socket.socket(socket.AF_UNIX)).bind(str(tmp_path / "s"))
    (hidden := socket.socket(socket.AF_UNIX)).bind("\0rmqlab-of-a-test")
    with socket.create_server(("127.0.0.1", 0)) as tcp, server, hidden:
        server.listen()
        hidden.listen()
        for listener in (server, hidden, tcp):
            listener.settimeout(0.1)
        tried = "\n".join(
            [
                "import os, socket, shutil",
                "came = []",
                "def tried(name, act):",
                "    try: came.append((name, act()))",
                "    except OSError: pass",
                f"kept, port = {str(kept)!r}, {tcp.getsockname()[1]}",
                "tried('read', lambda: open(kept).read())",
                "tried('write', lambda: open(kept, 'w').write('gone'))",
                "tried('chmod', lambda: os.chmod(kept, 0o600))",
                "tried('utime', lambda: os.utime(kept, (1, 1)))",
                "tried('xattr', lambda: os.setxattr(kept, 'user.x', b'1'))",
                f"tried('rmtree', lambda: shutil.rmtree({str(tmp_path)!r}))",
                f"tried('solutions', lambda: os.listdir({str(ROOT / 'notebooks')!r}))",
                f"tried('tests', lambda: os.listdir({str(ROOT / 'tests' / 'lessons')!r}))",
                "tried('course', lambda: open(rmqlab.__file__, 'a'))",
                "tried('tcp', lambda: socket.create_connection(('127.0.0.1', port), 2))",
                f"tried('unix', lambda: socket.socket(socket.AF_UNIX).connect({str(tmp_path / 's')!r}))",
                "tried('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\\0rmqlab-of-a-test'))",
                "tried('others', lambda: os.readlink('/proc/40/exe'))",
                "raise ValueError(repr(came))",
            ]
        )
        verdicts = hand_in(alone=True, collide=tried)
        for listener in (server, hidden, tcp):
            with pytest.raises(TimeoutError):
                listener.accept()
    assert verdicts["collide"].says == "ValueError: []"
    after = kept.stat()
    assert (kept.read_text(), after.st_mode, after.st_mtime_ns) == ("here", before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("source", "state", "says"),
    [
        ("x = [bytearray(100_000_000) for _ in range(1_000)]", NO_ANSWER, "MemoryError"),
        (
            "import os, time\nfor _ in range(6):\n    os.fork() or bytearray(b'1') * (400 << 20)\ntime.sleep(20)",
            STOPPED,
            "MB together",
        ),
        (
            "import os, time\nfor _ in range(100):\n    os.fork() or time.sleep(20)\ntime.sleep(20)",
            STOPPED,
            "more than 60 processes",
        ),
        ("for n in range(40):\n    open(f'f{n}', 'wb').write(b'x' * (20 << 20))", NO_ANSWER, "No space left"),
        ("import os\nfor n in range(200):\n    os.write(2, b'x' * (1 << 20))\npair = 5", NOT_YET, "Give two tags"),
    ],
    ids=["memory of one", "memory of all", "processes", "disk", "output"],
)
def test_limits_hold_for_all_processes_of_a_notebook_together(hand_in, promises, source, state, says):
    verdict = hand_in(alone=True, collide=source)["collide"]
    assert (verdict.state, says in verdict.says) == (state, True), verdict


def test_a_machine_without_a_sandbox_says_which_promise_falls_and_asks_for_trust(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tests.proof.commands.workshop.missing", lambda: dict.fromkeys(PROMISES, "it takes Linux"))
    (tmp_path / "ann").mkdir()
    shutil.copy(ROOT / "notebooks" / "exercises" / f"{STEM}.ipynb", tmp_path / "ann")
    assert cli.main(["workshop", "--check", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert all(f"no promise of {name} here" in shown for name in PROMISES)
    assert "--trust" in shown
    assert cli.main(["workshop", "--check", str(tmp_path), "--trust"]) == 1  # judged, not right


@pytest.mark.parametrize(
    "value", [{"a": [1, (2.5, None)]}, [], {"x", "y"}, b"x", True, "Aa", 10**40, ..., set(), float("inf")]
)
def test_data_comes_back_as_it_was(value):
    assert decode(json.loads(json.dumps(encode(value))), {}) == value


def test_what_is_no_data_comes_back_as_a_thing_of_no_kind():
    deep = []
    for _ in range(10 * DEEPEST):
        deep = [deep]
    assert isinstance(decode(encode(object()), {}), Unknown)
    assert "deep" in repr(decode(encode(deep), {}))
    assert decode(encode(float("nan")), {}) != decode(encode(float("nan")), {})


@pytest.mark.parametrize(
    "value", [["what", 1], ["list", 5], ["int", "x"], ["int", "f" * 5_000], [1], {"a": 1}, ["set", [["list", []]]]]
)
def test_what_no_answer_is_made_of_is_refused(value):
    with pytest.raises(BrokenAnswerError):
        decode(value, {})


def _pipe(path):
    os.mkfifo(path)


def _link(path):
    path.symlink_to("/dev/zero")


FILES = {
    "a pipe": _pipe,
    "a link": _link,
    "no JSON": lambda path: path.write_text("{"),
    "deep JSON": lambda path: path.write_text("[" * 100_000),
    "a cell without source": lambda path: path.write_text('{"cells": [{"cell_type": "code"}]}'),
    "a source that is a number": lambda path: path.write_text('{"cells": [{"cell_type": "code", "source": 5}]}'),
    "half a character": lambda path: path.write_text('{"cells": [{"cell_type": "code", "source": "\\ud800"}]}'),
    "large": lambda path: path.write_bytes(b" " * 21_000_000),
    "many cells": lambda path: path.write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": "1"}] * (MOST_CELLS + 1)})
    ),
    "a folder": lambda path: path.mkdir(),
}


def test_one_notebook_never_stops_the_others(tmp_path, capsys):
    """Each broken file is its own learner's finding, in the time of one honest notebook."""
    for number, make in enumerate(FILES.values()):
        (tmp_path / f"{number}").mkdir()
        make(tmp_path / f"{number}" / f"{STEM}.ipynb")
    (tmp_path / "zoe").mkdir()
    shutil.copy(ROOT / "notebooks" / "solutions" / f"{STEM}.ipynb", tmp_path / "zoe")
    done = threading.Event()
    threading.Timer(120, lambda: done.is_set() or os._exit(9)).start()
    status = cli.main(["workshop", "--check", str(tmp_path), "--json", str(tmp_path / "out.json"), *TRUST])
    done.set()
    report = {row["learner"]: row["tasks"] for row in json.loads((tmp_path / "out.json").read_text())["learners"]}
    assert status == 1
    assert {task["state"] for task in report["zoe"].values()} == {RIGHT}
    others = {task["state"] for learner, tasks in report.items() if learner != "zoe" for task in tasks.values()}
    assert others == {"no notebook"}
    assert len(report) == len(FILES)  # a link is left out before it is opened; every other one is named
    assert not stat.S_ISREG((tmp_path / "0" / f"{STEM}.ipynb").stat().st_mode)


def test_given_cells_are_ours_and_outputs_are_not_read(known, tmp_path):
    notebook = read(ROOT / "notebooks" / "exercises" / f"{STEM}.ipynb")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and cell["id"] in {"imports", "hunt-lab"}:
            cell["source"] = "raise SystemExit"
    write(tmp_path / f"bob-{STEM}.ipynb", notebook)
    (submission,), _ = submissions(tmp_path, known)
    assert submission.learner == "bob"
    assert not [cell for cell in cells(submission) if "SystemExit" in cell.source]
    assert [cell.task for cell in cells(submission) if cell.task] == submission.exercise.tasks


def test_every_exercise_has_its_tasks(known):
    assert len(known) == 15
    assert sum(len(exercise.tasks) for exercise in known.values()) > 40
    assert all(len(exercise.tasks) >= 3 for exercise in known.values())
    assert {exercise.stem[:2] for exercise in known.values() if exercise.spark} == {"11", "12"}


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
    assert cli.main(["workshop", "--check", str(tmp_path), "--json", str(tmp_path / "out.json"), *TRUST]) == 1
    printed = capsys.readouterr()
    assert "ann      02_tags_tasks   0 of 5  - - - - -" in printed.out
    assert "notes.ipynb: no notebook of tasks" in printed.err
    assert "not a notebook" in printed.err
    report = json.loads((tmp_path / "out.json").read_text())
    assert [learner["learner"] for learner in report["learners"]] == ["ann", "ben", "ben"]
    assert report["learners"][0]["tasks"]["02-collide"]["state"] == NOT_YET
    assert report["sandbox"]["promises"] == {name: name not in LACKING for name in PROMISES}
