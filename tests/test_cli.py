"""The command line: verbs, exit statuses, where the JSON goes."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.cli import VERBS, cli
from rmqlab_tools.cli.output import write_json
from tests.proof.commands import rows

pytestmark = pytest.mark.slow


def test_without_a_verb_all_are_listed(capsys):
    assert cli.main([]) == 0
    told = capsys.readouterr().out
    assert cli.main(["--help"]) == 0
    assert capsys.readouterr().out == told
    for name, verb in VERBS.items():
        assert f"  {name} " in told
        assert verb.help in told


def test_every_verb_explains_itself():
    for name in VERBS:
        with pytest.raises(SystemExit) as stop:
            cli.main([name, "--help"])
        assert stop.value.code == 0


def test_unknown_verb_is_bad_input(capsys):
    assert cli.main(["simulat"]) == 2
    assert capsys.readouterr().err == "rmqlab: no verb 'simulat'; did you mean simulate?\n"
    assert cli.main(["xyzzy"]) == 2
    assert "no verb 'xyzzy'; there are: reproduce, simulate, " in capsys.readouterr().err


def test_unknown_argument_is_bad_input(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["rows", "--mising"])
    assert stop.value.code == 2
    assert "--mising" in capsys.readouterr().err


def test_bad_input_is_one_message_and_status_2(monkeypatch, capsys):
    def run(args):
        raise BadInput("scenarios.jsonl:3: field 'at': want a number of ms")

    monkeypatch.setattr(rows, "run", run)
    assert cli.main(["rows"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "rmqlab rows: scenarios.jsonl:3: field 'at': want a number of ms\n"


@pytest.mark.parametrize("how", ["at once", "hidden", "as bad input"])
def test_ctrl_c_is_one_line_and_status_130(monkeypatch, capsys, how):
    """What Spark does on its way out of an interrupt fails, too, and must not hide it."""

    def run(args):
        try:
            raise KeyboardInterrupt  # noqa: TRY301
        except KeyboardInterrupt:
            if how == "at once":
                raise
            raise (BadInput if how == "as bad input" else RuntimeError)("Py4J: no answer")  # noqa: B904

    monkeypatch.setattr(rows, "run", run)
    assert cli.main(["rows"]) == 130
    assert capsys.readouterr().err == "rmqlab rows: interrupted\n"


def test_an_error_of_ours_is_no_interrupt(monkeypatch):
    def run(args):
        raise RuntimeError("a bug")

    monkeypatch.setattr(rows, "run", run)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["rows"])


@pytest.mark.parametrize(("raised", "status"), [(KeyboardInterrupt, 130), (None, 7)])
def test_status_is_that_of_the_verb(monkeypatch, raised, status):
    def run(args):
        if raised:
            raise raised
        return 7

    monkeypatch.setattr(rows, "run", run)
    assert cli.main(["rows"]) == status


def test_ctrl_c_is_one_line_and_libraries_say_nothing(monkeypatch, capsys, caplog):
    def run(args):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        finally:
            logging.getLogger("py4j").error("Exception while sending command.")  # what Py4J does in its calls

    monkeypatch.setattr(rows, "run", run)
    others = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's, where a session was opened before
    try:
        assert cli.main(["rows"]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, others)
    assert capsys.readouterr() == ("", "rmqlab rows: interrupted\n")
    assert caplog.records == []
    logging.getLogger("py4j").error("heard again")
    assert [record.message for record in caplog.records] == ["heard again"]


@pytest.mark.parametrize("kind", [RuntimeError, BadInput])
def test_what_fails_on_the_way_out_after_ctrl_c_is_no_error_of_its_own(monkeypatch, capsys, kind):
    def run(args):
        try:
            raise KeyboardInterrupt
        finally:
            raise kind("the JVM is gone")

    monkeypatch.setattr(rows, "run", run)
    assert cli.main(["rows"]) == 130
    assert capsys.readouterr().err == "rmqlab rows: interrupted\n"


def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m rmqlab rows | head -n 1"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert told.stderr == ""
    assert told.stdout.startswith("S-01")


def test_json_goes_where_it_is_asked_for(tmp_path, capsys):
    value = {"text": "消息 \ud800", "n": [1]}
    write_json(value, None)
    assert capsys.readouterr().out == ""
    write_json(value, "-")
    assert json.loads(capsys.readouterr().out) == value
    write_json(value, str(tmp_path / "result.json"))
    assert json.loads((tmp_path / "result.json").read_bytes()) == value


def test_json_that_cannot_be_written_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match=r"--json .*none/x.json: No such file or directory"):
        write_json({}, str(tmp_path / "none" / "x.json"))


def test_text_makes_room_for_json_on_standard_output(capsys):
    assert cli.main(["rows", "--only", "S-01", "--json", "-"]) in {0, 1}
    told = capsys.readouterr()
    assert [row["row"] for row in json.loads(told.out)["rows"]] == ["S-01"]
    assert told.err.startswith("S-01")


def test_text_goes_to_standard_output_otherwise(capsys):
    assert cli.main(["rows", "--only", "S-01"]) in {0, 1}
    assert capsys.readouterr().out.startswith("S-01")
