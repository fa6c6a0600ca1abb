"""`--json -`: one JSON value on standard output and nothing else there, for every verb; and how each help ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.run.fates import Fate
from rmqlab_tools.cli import VERBS, cli, tap
from rmqlab_tools.cli import notebook as notebook_verb
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.live.wire.frame_codec import encode_frame
from tests.proof.notebook_files import write

pytestmark = pytest.mark.slow

BASE = "{golden}/broker-4.8.0/base/scenarios.jsonl"
CHEAP = {
    "reproduce": [["--only", "E1"]],
    "simulate": [
        [BASE, "--id", "p-article-000"],
        [BASE, "--id", "p-article-000", "--out", "{tmp}/events.jsonl", "--seed", "1"],
        [BASE, "--id", "p-article-000", "--compare", "{golden}/broker-4.8.0/base", "--seeds", "1"],
    ],
    "explore": [[BASE + "#p-article-000", "--budget", "10", "--samples", "2", "--shorten", "1"]],
    "conform": [["{tmp}/vectors"]],
    "replay": [["{tmp}/recording"]],
    "sweep": [
        [],
        ["heartbeats", "--spark", "none", "--out", "{tmp}/sweep", *[
            text
            for one in ("clients=1000", "period_ms=30000", "expiry_ms=120000", "scan_ms=10000", "lost=0")
            for text in ("--set", one)
        ]],
        ["heartbeats", "--row", "0"],
    ],
    "matrix": [
        ["--receivers", "push", "--orders", "burst_turn", "--runs", "1", "--out", "{tmp}/matrix"],
        ["--stored", "--receivers", "pop"],
    ],
    "sql92": [["a > 3", "--set", "a=5"], ["a >"]],
    "rules": [[], ["is_latest", "--version", "5.5.0"], ["--between", "4.8.0", "5.5.0"]],
    "profile": [["--messages", "3000", "--processes", "1", "--no-java"]],
    "bench": [["--list"]],
    "stress": [["frames", "--count", "2"]],
    "plan": [["tagA", "tagA", "--budget", "1", "--every", "1000", "--producers", "keep", "--procedure", "one-by-one"]],
    "doctor": [["--recorded", "{golden}/../doctor/4.8.0-1.json", "{golden}/../doctor/4.8.0-2.json"]],
    "explain": [["24"], ["the consumer's subscription not latest"]],
    "lint": [["--member", "A:T=tagA", "--member", "B:T=tagB"]],
    "completion": [["bash"], ["zsh"]],
    "rows": [["--only", "S-01"]],
    "notebook": [["--execute", "{tmp}/one.ipynb"]],
    "workshop": [["--check", "{tmp}/class", "--trust"]],
}  # fmt: skip
IN_A_PROCESS = {"bundle", "serve", "site", "tap", "test"}  # run until they are stopped, run pytest, or take long
# tests/spark/test_json_output_of_spark.py and test_archive.py
ON_SPARK = {"agree", "archive", "audit", "events", "match"}
WITH_ITS_CHECK = {"catalogue"}  # tests/proof/catalogue/test_catalogues.py: it reads every page, so it runs once


@pytest.fixture
def prepared(tmp_path, golden, monkeypatch):
    """What the arguments name: vectors, a recording of one request, a notebook."""
    (tmp_path / "vectors").mkdir()
    first = (golden / "vectors" / "tags.jsonl").read_text("utf-8").splitlines()[0]
    (tmp_path / "vectors" / "tags.jsonl").write_text(first + "\n", "utf-8")
    (tmp_path / "recording").mkdir()
    (tmp_path / "recording" / "broker.conf").write_text("brokerName=broker-a\n")
    request = RemotingCommand.request(RequestCode.GET_ALL_TOPIC_CONFIG)
    answer = RemotingCommand.response(0)
    answer.opaque = request.opaque
    lines = [
        {"t": 0, "conn": 1, "open": True},
        {"t": 1, "conn": 1, "dir": "c2s", "frame": encode_frame(request).hex()},
        {"t": 2, "conn": 1, "dir": "s2c", "frame": encode_frame(answer).hex()},
    ]
    (tmp_path / "recording" / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write(tmp_path / "one.ipynb", new_notebook(cells=[new_code_cell("print(1)", id="one")]))
    write(tmp_path / "class" / "ann" / "11_audit_tasks.ipynb", new_notebook())  # on Spark, so it is not run
    monkeypatch.setattr(notebook_verb, "checkout_path", lambda _: tmp_path)
    monkeypatch.chdir(tmp_path)
    return {"tmp": tmp_path, "golden": golden}


def test_every_verb_is_looked_at():
    assert set(CHEAP) | IN_A_PROCESS | ON_SPARK | WITH_ITS_CHECK == set(VERBS)


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [pytest.param(verb, one, id=f"{verb}-{n}") for verb, several in CHEAP.items() for n, one in enumerate(several)],
)
def test_one_json_value_alone(verb, arguments, prepared, capsys):
    status = cli.main([verb, *[text.format(**prepared) for text in arguments], "--json", "-"])
    out, err = capsys.readouterr()
    assert status in {0, 1, 3}, err  # 3: what was looked at loses messages
    json.loads(out)
    assert [name for name in Fate if "_" in name and name in err] == []  # people read words, JSON has the names


def test_events_of_simulate_are_one_array_with_an_object_a_line(prepared, capsys):
    arguments = ["simulate", BASE.format(**prepared), "--id", "p-article-000"]
    assert cli.main([*arguments, "--out", "events.jsonl"]) == 0
    capsys.readouterr()
    assert cli.main([*arguments, "--json", "-"]) == 0
    out, err = capsys.readouterr()
    lines = (prepared["tmp"] / "events.jsonl").read_text("ascii").splitlines()
    assert json.loads(out) == [json.loads(line) for line in lines]
    assert out.count("\n") == len(lines) + 2
    assert "lost" in err


def lab(*arguments):
    return [sys.executable, "-m", "rmqlab", *arguments]


def test_what_a_verbs_programs_write_is_not_there_either(root):
    command = lab("test", "tests/cli/test_progress.py", "-q", "-p", "no:cacheprovider", "--json", "-")
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert json.loads(done.stdout)["status"] == 0
    assert "passed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["serve", "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0", "--gauges", "1"], 0),
        (["tap", "recording", "--listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0"], tap.NOTHING_RECORDED),
    ],
    ids=["serve", "tap"],
)
def test_verbs_that_run_until_they_are_stopped(tmp_path, root, arguments, status):
    env = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        lab(*arguments, "--json", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env
    ) as started:
        started.stderr.readline()  # both say that they are ready
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert started.returncode == status, err
    json.loads(out)


def test_what_is_no_number_in_json_is_null(capsys):
    write_json({"a": [1.5, float("nan")], "b": float("inf")}, "-")
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, None], "b": None}


@pytest.mark.parametrize("verb", VERBS)
def test_each_help_ends_with_exit_statuses_and_an_example(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    told = capsys.readouterr().out
    assert told.count("exit status:") == 1
    assert told.rstrip().splitlines()[-1].startswith(f"  rmqlab {verb}")
    assert "  130  stopped by Ctrl-C" in told
    for number, meaning in VERBS[verb].statuses.items():
        assert f"{number:>5}  {meaning[:30]}" in told
    assert max(map(len, told.splitlines())) <= 120
