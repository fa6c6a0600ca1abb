"""The verb `plan`: text, JSON, exit status, files that replay."""

from __future__ import annotations

import json

import pytest

from rmqlab_tools.cli.cli import main

FAST = ["--budget", "1", "--every", "1000", "--producers", "keep"]


def test_what_loses_is_said_with_a_schedule_and_exit_1(capsys, tmp_path):
    folder = tmp_path / "schedules"
    status = main(["plan", "tagA", "tagB", *FAST, "--procedure", "one-by-one", "--schedules", str(folder)])
    out = capsys.readouterr().out
    assert status == 1
    assert out.startswith("tagA to tagB: nothing safe was found; the least is lost by one-by-one: up to ")
    assert "one-by-one         LOSES up to" in out
    assert "the tag tagA" in out
    assert '"format"' not in out
    assert main(["plan", "tagA", "tagB", *FAST, "--procedure", "one-by-one", "-v"]) == 1
    out = capsys.readouterr().out
    assert "dropped by the broker, C" in out
    assert '"format": "rmqlab-schedule/1"' in out
    # the two files replay with simulate, and the same messages are gone
    events = tmp_path / "events.jsonl"
    scenario, schedule = folder / "one-by-one-keep.jsonl", folder / "one-by-one-keep.schedule.json"
    assert main(["simulate", str(scenario), "--schedule", str(schedule), "--out", str(events)]) == 0
    rows = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
    gone = {row["body"] for row in rows if row["ev"] == "fate" and row["fate"] != "delivered"}
    named = next(line for line in out.splitlines() if "dropped by the broker" in line).partition(":")[0]
    assert {body.strip() for body in named.split(",")} <= gone


def test_what_loses_nothing_on_a_condition_has_a_checklist_and_is_not_called_safe(capsys, tmp_path):
    target = tmp_path / "plan.json"
    status = main(["plan", "tagA", "tagB", *FAST, "--procedure", "stop-all", "--json", str(target)])
    out = capsys.readouterr().out
    assert status == 1
    assert "stop-all           loses nothing: " in out
    assert "Checklist for stop-all:\n  1. Producers stop sending what only tagA takes." in out
    assert "    only if: Producers stop sending what only tagA takes." in out
    assert out.startswith(
        "tagA to tagB: nothing is safe whatever the producers do. Safe only if the producers do their part:"
    )
    found = json.loads(target.read_text("ascii"))
    assert [(one["safe"], one["conditional"]) for one in found["procedures"]] == [(False, True)]
    assert [one["name"] for one in found["procedures"]] == ["stop-all"]
    assert found["checklists"]["stop-all"][0] in out


def test_json_on_standard_output_is_alone_there(capsys):
    assert main(["plan", "tagA", "tagA", *FAST, "--procedure", "one-by-one", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["same"] is True
    assert "Both take the same messages." in captured.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["||", "tagA"], "OLD '||': subString split error"),
        (["tagA", "SQL92:a >>"], "NEW 'SQL92:a >>': "),
        (["tagA", "tagB", "--members", "0"], "members is 0; it is a whole number from 1 to 16"),
        (["tagA", "tagB", "--procedure", "hope"], "no procedure 'hope'; there are: stop-all, one-by-one, new-group"),
        (["tagA", "tagB", "--budget", "0"], "budget is 0"),
    ],
)
def test_bad_input_is_exit_2_and_says_what_is_wrong(capsys, arguments, told):
    assert main(["plan", *arguments]) == 2
    assert f"rmqlab plan: {told}" in capsys.readouterr().err


def test_a_condition_is_no_tag(capsys):
    assert main(["plan", "a > 3", "b"]) == 2
    assert "OLD 'a > 3' looks like SQL92: write 'SQL92:a > 3'" in capsys.readouterr().err
