"""Input formats: each has a page with a complete example, `--example` prints it, and it runs."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from rmqlab.errors import BadInput
from rmqlab.scenario import scenario as scenarios
from rmqlab_tools.cli.arguments import FORMATS, parts
from rmqlab_tools.cli.cli import main
from rmqlab_tools.search.lint.members import GROUP_FIELDS, MEMBER_FIELDS
from rmqlab_tools.spark.audit.subscription_file import LINE_FIELDS, read_subscriptions


@pytest.mark.parametrize("verb", FORMATS)
def test_example_is_printed_alone_and_explained_beside(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, "--example"])
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert printed.out == parts(FORMATS[verb])[1]
    assert all(json.loads(line) for line in printed.out.splitlines())
    assert printed.err.startswith("# ")
    assert "```" not in printed.err
    assert "| `group` |" in printed.err or "`group`" in printed.err


@pytest.fixture
def file(tmp_path, request):
    path = tmp_path / "example.jsonl"
    path.write_text(parts(request.param)[1], encoding="utf-8")
    return path


@pytest.mark.parametrize("file", ["scenario"], indirect=True)
def test_the_scenario_runs(file, capsys):
    assert main(["simulate", str(file)]) == 0
    fates = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"fate"' in line]
    assert len(fates) == 8
    assert main(["explore", str(file), "--budget", "5", "--samples", "0"]) == 0


@pytest.mark.parametrize(("file", "status"), [("members", 1), ("scenario", 1)], indirect=["file"])
def test_lint_finds_who_differs(file, status, capsys):
    assert main(["lint", str(file)]) == status
    assert "inconsistent" in capsys.readouterr().out.lower()


@pytest.mark.parametrize("file", ["subscriptions"], indirect=True)
def test_an_audit_reads_every_line(file):
    found = read_subscriptions(file)
    key = "orders", "Orders"
    assert (len(found.client_subscriptions[key]), len(found.broker_subscriptions[key])) == (2, 1)
    assert found.present["orders"][0].clients == ("A", "B")


def named(name):
    return set(re.findall(r"`(\w+)`", "".join(parts(name))))


def test_pages_name_every_field():
    structs = [*scenarios._KINDS.values(), scenarios.Scenario, scenarios.OutgoingMessage]
    known = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    assert known | set(scenarios._KINDS) <= named("scenario")
    assert {*GROUP_FIELDS, *MEMBER_FIELDS} <= named("members")
    assert {*LINE_FIELDS} - {"held"} <= named("subscriptions")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ({"group": "G", "topik": "T", "expr": "a"}, "topic"),
        ({"group": "G", "topic": "T", "exprs": "a"}, "expr"),
        ({"group": "G", "topic": "T", "expr": "a", "untill": 5}, "until"),
        ({"group": "G", "topic": "T", "expr": "a", "type": "SQL"}, "SQL92"),
    ],
)
def test_a_misspelled_subscription_is_told_what_is_meant(tmp_path, line, meant):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(line))
    with pytest.raises(BadInput, match=rf"line 1: .*did you mean {meant}\?"):
        read_subscriptions(path)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ({"member": []}, "members"),
        ({"members": [{"client": "A", "subscribes": {}}]}, "subscribe"),
        ({"groups": "G", "members": []}, "group"),
        ({"id": "x", "topics": {"T": 1}, "steps": [{"do": "sent", "at": 0}]}, "send"),
        (
            {
                "id": "x",
                "topics": {"T": 1},
                "steps": [{"do": "send", "at": 0, "topic": "T", "messages": [{"body": "b", "tags": "a"}]}],
            },
            "tag",
        ),
    ],
)
def test_a_misspelled_member_or_step_is_told_what_is_meant(tmp_path, capsys, value, meant):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(value))
    assert main(["lint", str(path)]) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--property", "no-los"], ["--vary", "thread"]])
def test_misspelled_names_of_explore(tmp_path, capsys, option):
    path = tmp_path / "s.jsonl"
    path.write_text(parts("scenario")[1])
    assert main(["explore", str(path), *option]) == 2
    assert "did you mean" in capsys.readouterr().err
