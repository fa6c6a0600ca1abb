"""The verb `explore`: which scenario is meant, what is printed and saved, and schedules that `simulate` repeats."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.sim.scenario_inputs import chosen_scenario
from rmqlab_tools.cli.cli import main
from tests.search.explored_models import TWO_ON_ONE_QUEUE, TWO_ON_TWO_QUEUES

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path):
    one = TWO_ON_ONE_QUEUE.to_json().replace('"id": "x"', '"id": "one-queue"')
    (tmp_path / "both.jsonl").write_text(f"\n{one}\n{TWO_ON_TWO_QUEUES.to_json()}\n", encoding="utf-8")
    (tmp_path / "single.jsonl").write_text(one, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("single.jsonl", "one-queue"),
        ("both.jsonl#x", "x"),
        ("both.jsonl#3", "x"),
        ("both.jsonl#2", "one-queue"),
    ],
)
def test_a_scenario_is_named_by_file_id_or_line(files, text, found):
    path, scenario = chosen_scenario(str(files / text))
    assert scenario.id == found
    assert path.is_file()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("both.jsonl", r"both.jsonl has 2 scenarios; choose one with .*both.jsonl#ID: one-queue, x"),
        ("both.jsonl#y", "y: no scenario of .*both.jsonl has this id or line; it has one-queue, x"),
        ("both.jsonl#1", "1: no scenario"),
        ("missing.jsonl", "there is no such file"),
    ],
)
def test_what_names_none_is_answered_with_what_would(files, text, problem):
    with pytest.raises(BadInput, match=problem):
        chosen_scenario(str(files / text))


def test_outcomes_are_printed_saved_and_repeated_by_simulate(files, capsys):
    target, schedules = files / "told.json", files / "schedules"
    arguments = ["explore", f"{files / 'both.jsonl'}#x", "--budget", "30", "--samples", "10", "--json", str(target)]
    assert main([*arguments, "--schedules", str(schedules)]) == 0
    printed = capsys.readouterr().out
    answer, sure, *_ = printed.splitlines()
    assert answer == "x loses 3 of 4 messages in each of the 30 runs that were made."
    assert " 20 runs of the search and 10 by chance" in sure
    assert sure.startswith("2 outcomes in ")
    assert sure.endswith(" by chance; not every order was tried.")
    assert "always: no message that a member asked for is lost: FAILS" in printed
    assert '{"format"' not in printed
    assert main([*arguments[:-2], "-v"]) == 0
    printed = capsys.readouterr().out
    assert '{"format": "rmqlab-schedule/1"' in printed
    assert "assumed by it: " in printed
    told = json.loads(target.read_text(encoding="utf-8"))
    assert set(told) >= {"scenario", "exhausted", "runs", "outcomes"}
    for number, outcome in enumerate(told["outcomes"], 1):
        events = []
        for name in ("events-1", "events-2"):
            again = ["simulate", str(files / "both.jsonl"), "--id", "x", "--out", str(files / name)]
            assert main([*again, "--schedule", str(schedules / f"x-{number}.json")]) == 0
            events.append((files / name).read_text(encoding="utf-8"))
        assert events[0] == events[1]
        lines = [json.loads(line) for line in events[0].splitlines()]
        consumed = {}
        for line in lines:
            if line["ev"] == "consume":
                consumed.setdefault(line["who"], []).append(line["body"])
        assert {who: sorted(bodies) for who, bodies in consumed.items()} == outcome["consumed"]


def test_a_property_asked_for_decides_the_exit_status(files, capsys):
    arguments = ["explore", str(files / "single.jsonl"), "--budget", "20", "--samples", "2", "--property"]
    assert main([*arguments, "no-loss"]) == 1
    assert main([*arguments, "every-queue-owned"]) == 0
    assert main([*arguments, "nonsense"]) == 2
    assert "no property 'nonsense'" in capsys.readouterr().err


def test_a_property_that_fails_is_drawn_and_told(files, capsys):
    arguments = ["explore", str(files / "single.jsonl"), "--budget", "8", "--samples", "2", "--shorten", "5"]
    svg, text = files / "why.svg", files / "why.txt"
    for target in (svg, text):
        assert main([*arguments, "--picture", str(target)]) == 0
    drawn, told = svg.read_text(encoding="ascii"), text.read_text(encoding="ascii")
    assert drawn.startswith("<svg ")
    assert "<desc" in drawn
    assert "No message that a member asked for is lost: fails" in drawn
    assert told.startswith("No message that a member asked for is lost: fails\nscenario one-queue, group G, topic T\n")
    schedule = files / "pasted.json"
    schedule.write_text(told.splitlines()[-1], encoding="utf-8")
    scenario = files / "pasted.jsonl"
    scenario.write_text(next(line for line in told.splitlines() if line.startswith('{"id"')), encoding="utf-8")
    assert main(["simulate", str(scenario), "--schedule", str(schedule)]) == 0
    capsys.readouterr()
    assert main([*arguments, "--picture", str(files / "why.png")]) == 2
    assert "ends in .svg or .txt" in capsys.readouterr().err


def test_a_scenario_without_consumers_is_not_explored(tmp_path, capsys):
    (tmp_path / "none.jsonl").write_text('{"id": "x", "topics": {"T": 1}, "steps": []}')
    assert main(["explore", str(tmp_path / "none.jsonl")]) == 2
    assert "x: no consumer is started in it, so there is nothing to explore" in capsys.readouterr().err


def test_a_property_that_fails_is_a_finding_unless_it_was_asked_for(files, capsys):
    arguments = ["explore", f"{files / 'both.jsonl'}#x", "--budget", "10", "--samples", "2"]
    assert main(arguments) == 0
    assert (
        "1 property FAILS: a finding, so the exit status is 0; for one asked for with --prop" in capsys.readouterr().out
    )
    assert main([*arguments, "--property", "no-loss"]) == 1
    assert "a finding" not in capsys.readouterr().out
