"""`my_rules.py`: what `check` writes into it, what a learner may do to it by hand, and what `mine()` says stands."""

from __future__ import annotations

import functools
import os
import zlib

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.course import check as judging
from rmqlab_tools.course.my_rules import EARLIER, FILE, HEAD, LADDER, STEPS
from tests.proof.reference_rules import REFERENCE, climb

RULES = rmqlab.RULES["4.8.0"]
WEIGHT = 7
LAB = object()


def weighed(text):
    # helpers come along, with their comments
    return zlib.crc32(text.encode()) * WEIGHT


def client_keeps(subscription, tag):
    return subscription.class_filter_mode or not subscription.tags_set or tag in subscription.tags_set


def other_keeps(subscription, tag):
    return True


def by_weight(current_cid, mq_all, cid_all):
    return [queue for queue in mq_all if max(cid_all, key=lambda cid: weighed(f"{cid}{queue}")) == current_cid]


def every_answer_is_right(monkeypatch):
    monkeypatch.setattr(judging, "judge", lambda name, answer: "Well done.")
    monkeypatch.setattr(judging, "size_of_solution", lambda name: "")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A learner's copy, with nothing in it, from the folder of its tasks; every answer is right."""
    (tmp_path / "exercises").mkdir()
    (tmp_path / "00_index.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path / "exercises")
    every_answer_is_right(monkeypatch)
    return tmp_path / "exercises"


def standing(rules=None):
    return {row[0]: tuple(row[1:]) for row in (rules or rmqlab.mine()).standing.rows}


def test_a_right_rule_stands_in_the_file_and_in_a_lab(copy):
    assert standing()["client_keeps"] == ("4.8.0", "missing: task 02-client", "")
    assert repr(rmqlab.check("02-client", client_keeps)) == "02-client: right. Well done. It stands in my_rules.py now."
    mine = rmqlab.mine()
    assert mine.client_keeps.__code__.co_code == client_keeps.__code__.co_code
    assert "def client_keeps(subscription, tag):" in mine.source("client_keeps")
    assert standing()["client_keeps"] == ("yours", "right in task 02-client", "the same in 58 cases")
    assert repr(rmqlab.Lab(topics={"T": 1}, rules=mine).rules) == repr(mine)
    assert mine.replace(client_keeps=RULES.client_keeps) == RULES
    assert mine != RULES
    assert "client_keeps" in mine._repr_html_()


def test_helpers_imports_and_another_name_come_along(copy):
    rmqlab.check("07-rule", by_weight)
    text = (copy / FILE).read_text(encoding="utf-8")
    assert "import zlib" in text
    assert "# helpers come along, with their comments" in text
    assert "allocate = by_weight" in text
    queues = rmqlab.mine().allocate("A", [0, 1, 2, 3], ["A", "B"])
    assert queues == by_weight("A", [0, 1, 2, 3], ["A", "B"])


def test_a_helper_of_the_same_name_does_no_harm(copy):
    (copy / FILE).write_text(f"{HEAD}\nWEIGHT = 1\n\n\ndef weighed(text):\n    return 'by hand'\n", encoding="utf-8")
    rmqlab.check("07-rule", by_weight)
    assert rmqlab.mine().allocate("A", [0, 1, 2, 3], ["A", "B"]) == by_weight("A", [0, 1, 2, 3], ["A", "B"])
    assert "return 'by hand'" in (copy / FILE).read_text(encoding="utf-8")


def test_an_earlier_rule_is_kept_elsewhere_and_a_note_says_so(copy):
    rmqlab.check("02-client", client_keeps)
    rmqlab.check("02-client", client_keeps)
    assert not (copy / EARLIER).exists()
    told = repr(rmqlab.check("02-client", other_keeps))
    assert told.endswith("It stands in my_rules.py now. The earlier one (02-client) is kept in my_rules_earlier.py.")
    text = (copy / FILE).read_text(encoding="utf-8")
    assert "# It took the place of an earlier one (02-client): my_rules_earlier.py." in text
    assert text.count("# %% client_keeps") == 1
    assert "def client_keeps(subscription, tag):" in (copy / EARLIER).read_text(encoding="utf-8")
    assert standing()["client_keeps"][-1] == "subscription='a' of T, version 0, tag=None: yours True, there False"


def test_a_file_changed_by_hand_keeps_what_it_has(copy):
    rmqlab.check("02-client", client_keeps)
    file = copy / FILE
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("tags_set\n", "tags_set  # mine\n", 1) + "\n\ndef is_latest(held, pull):\n    return True\n",
        encoding="utf-8",
    )
    assert standing()["client_keeps"][1] == "right in task 02-client"  # a comment changes nothing
    assert standing()["is_latest"][:2] == ("yours", "not judged yet")
    assert standing()["is_latest"][2].startswith("held_version=0, pull_version=5: yours True, there False")
    file.write_text(file.read_text(encoding="utf-8").replace("not subscription.tags_set or ", ""), encoding="utf-8")
    assert standing()["client_keeps"][1] == "not judged since you changed it"
    rmqlab.check("10-rule", lambda held_version, pull_version: held_version >= pull_version)
    assert standing()["is_latest"] == ("yours", "right in task 10-rule", "the same in 9 cases")
    text = file.read_text(encoding="utf-8")
    assert "def is_latest" not in text
    assert "# mine" in text
    assert "def is_latest" in (copy / EARLIER).read_text(encoding="utf-8")


def test_a_rule_written_inside_of_another_ones_part_is_not_lost(copy):
    rmqlab.check("02-client", client_keeps)
    file = copy / FILE
    text = file.read_text(encoding="utf-8").rstrip().removesuffix("# %%")
    file.write_text(text + "\n\ndef is_latest(held, pull):\n    return True\n", encoding="utf-8")
    rmqlab.check("02-client", other_keeps)
    assert rmqlab.mine().is_latest(0, 1) is True


def test_times_are_rules_too(copy):
    rmqlab.check("06-periods", RULES.replace(heartbeat_period_ms=3_000))
    assert rmqlab.mine().heartbeat_period_ms == 3_000
    assert standing()["heartbeat_period_ms"] == ("yours", "right in task 06-periods", "3,000, there 30,000")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def is_latest(:\n", r"my_rules\.py, line 1: this is no Python \(.+\); mend that line"),
        ("x = 1\ny = 1 / 0\n", r"my_rules\.py, line 2: it stops with ZeroDivisionError: division by zero"),
        ("\nis_latest = 5\n", r"my_rules\.py, line 2: is_latest is 5; right is a function"),
        (
            "def is_latest(held):\n    return 1\n",
            r"line 1: is_latest takes other arguments; right are held_version, pull_version",
        ),
        ("heartbeat_period_ms = -1\n", r"my_rules\.py, line 1: heartbeat_period_ms"),
        ("raise SystemExit\n", "my_rules.py ends Python"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_is_left_alone(copy, text, told):
    (copy / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=told):
        rmqlab.mine()
    reply = repr(rmqlab.check("02-client", client_keeps))
    assert reply.startswith("02-client: right. Well done. It ")
    if "this is no Python" in told:
        assert "It does not stand in my_rules.py: line 1 of that file cannot be read." in reply
        assert (copy / FILE).read_text(encoding="utf-8") == text
    else:
        assert text.strip() in (copy / FILE).read_text(encoding="utf-8")


def test_a_slip_of_the_pen_is_named(copy):
    (copy / FILE).write_text("def client_keep(subscription, tag):\n    return True\n", encoding="utf-8")
    assert standing()["client_keep"][1] == "no rule has this name; did you mean client_keeps?"


def closed_over(tag):
    def keeps(subscription, asked):
        return asked == tag

    return keeps


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (closed_over("a"), "it uses tag of a function around it"),
        (functools.partial(client_keeps), "it is a partial, not a function that was written with def"),
        (eval("lambda subscription, tag: True"), "its lines are not at hand"),  # noqa: S307
        (lambda subscription, tag: bool(LAB), "it uses LAB"),
    ],
)
def test_what_cannot_stand_in_a_file_is_said(copy, rule, why):
    told = repr(rmqlab.check("02-client", rule))
    assert told.startswith("02-client: right. Well done. It does not stand in my_rules.py: ")
    assert why in told
    assert not (copy / FILE).exists()


def test_a_file_that_cannot_be_written_stops_nobody(copy):
    (copy / FILE).mkdir()
    assert "It does not stand in my_rules.py: " in repr(rmqlab.check("02-client", client_keeps))


def test_nothing_is_written_outside_of_a_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    every_answer_is_right(monkeypatch)
    assert repr(rmqlab.check("02-client", client_keeps)) == "02-client: right. Well done."
    assert list(tmp_path.iterdir()) == []
    assert rmqlab.mine() == RULES
    (tmp_path / FILE).write_text("", encoding="utf-8")  # a file of one's own, anywhere
    rmqlab.check("02-client", client_keeps)
    assert standing()["client_keeps"][0] == "yours"


def test_in_a_browser_the_file_lies_beside_the_tasks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.platform", "emscripten")
    every_answer_is_right(monkeypatch)
    (tmp_path / "exercises").mkdir()
    os.chdir(tmp_path / "exercises")
    rmqlab.check("02-client", client_keeps)
    os.chdir(tmp_path)
    assert standing()["client_keeps"][0] == "yours"
    assert (tmp_path / "exercises" / FILE).is_file()


def test_every_rung_is_a_task_and_every_rule_a_rule():
    for name, fields in LADDER.items():
        assert name in judging.checks(name.partition("-")[0])
        assert all(hasattr(RULES, field) for field in fields)
    assert len(STEPS) == len(set(STEPS))


def test_a_file_that_is_named_must_be_there(tmp_path):
    with pytest.raises(BadInput, match="there is no such file"):
        rmqlab.mine(tmp_path / "none.py")
    file = tmp_path / "mine.py"
    file.write_text("scan_period_ms = 5_000\n", encoding="utf-8")
    assert rmqlab.mine(file).scan_period_ms == rmqlab.mine(otherwise=file).scan_period_ms == 5_000
    assert rmqlab.mine(file, version="5.5.0").has_pop


def test_the_ladder_is_climbed_from_01_to_16(tmp_path, monkeypatch):
    """Our solutions, task by task in a learner's copy: the file that grows is the reference, and a lab runs with it."""
    monkeypatch.setenv("RMQLAB_LANG", "en")
    file = climb(tmp_path)
    assert file.read_text(encoding="utf-8") == REFERENCE.read_text(encoding="utf-8"), (
        "run: python -m tests.proof.reference_rules"
    )
    monkeypatch.chdir(tmp_path)
    mine = rmqlab.mine()
    assert set(standing(mine)) == set(STEPS)
    assert {row[:1] for row in standing(mine).values()} == {("yours",)}
    assert {row[1].split()[0] for row in standing(mine).values()} == {"right"}
    assert [row[3] for row in rmqlab.progress().rows] == []  # no lessons lie there
    lab = rmqlab.Lab(topics={"T": 4}, rules=mine)
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": f"tag{who}"})
    lab.run(seconds=30)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=30)
    assert len(lab.consumed()) > 2  # its slot has both tags
    assert len(rmqlab.mine(version="5.5.0").waiter_to_wake("AB", "B".__eq__)) == 1
