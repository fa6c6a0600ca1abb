"""What comes from outside is shown as what it is, by every verb: no control character, no mark of direction acts."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

import rmqlab
from rmqlab_tools.cli import VERBS
from rmqlab_tools.cli.cli import main
from rmqlab_tools.live.rate_limited_log import RateLimitedLog

ODD = "x\x1b[2J\u202e"
SHOWN = r"x\x1b[2J\u202e"
FAST = ["--budget", "1", "--every", "1000", "--producers", "keep", "--procedure", "one-by-one"]
ARGUMENTS = {
    "reproduce": ["--only", ODD],
    "simulate": [ODD],
    "explore": [f"{ODD}#1"],
    "replay": [ODD],
    "serve": ["--set", ODD],
    "tap": [ODD, "--namesrv", ODD],
    "archive": [ODD, ODD],
    "audit": [ODD],
    "events": [ODD, "--view", "losses"],
    "match": [ODD, "tagA"],
    "sweep": [ODD],
    "doctor": ["--namesrv", ODD],
    "explain": [f"{ODD}/none.log"],
    "sql92": [f"a > '{ODD}'", "--set", f"a={ODD}"],
    "rules": [ODD],
    "plan": ["tagA", ODD, *FAST],
    "matrix": ["--receivers", ODD],
    "lint": ["--member", f"{ODD}:T=tagA", "--member", f"B:T={ODD}"],
    "completion": [ODD],
    "conform": [ODD],
    "agree": ["--rows", ODD],
    "profile": ["--expression", ODD],
    "bench": [ODD],
    "stress": [ODD],
    "rows": [f"--{ODD}"],
    "catalogue": [f"--{ODD}"],
    "notebook": ["--execute", ODD],
    "site": ["--language", ODD],
    "bundle": ["--out", ".", "--extras", ODD],
    "workshop": ["--check", ".", f"--{ODD}"],
}
PASSES_ON = {"test"}  # to pytest, in a process of its own


def test_every_verb_is_looked_at():
    assert set(ARGUMENTS) | PASSES_ON == set(VERBS)


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_nothing_outside_acts(verb, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with suppress(SystemExit):  # argparse has refused it
        main([verb, *ARGUMENTS[verb]])
    told = "".join(capfd.readouterr())
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert SHOWN in told.replace("\\\\", "\\"), told  # where Python quotes it, the backslash is doubled


def test_lines_of_a_server_are_visible_too():
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        teller = RateLimitedLog(stream)
        teller.tell(f"G: {ODD} joins\nforged")
        teller.close()
    with os.fdopen(read) as told:
        assert told.read() == f"G: {SHOWN} joins\\nforged\n"


def test_tables_pictures_and_pages():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.send("T", ODD)
    lab.run(seconds=5)
    shown = rmqlab.show.table("Odd", lab.fates())
    for text in (repr(lab.fates()), shown.text(), shown.html(), lab.grid().svg, lab.grid().alt):
        assert "\x1b" not in text
        assert "\u202e" not in text
