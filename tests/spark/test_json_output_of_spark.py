"""`--json -` of the verbs on Spark: one JSON value on standard output and nothing else there."""

from __future__ import annotations

import json

import pytest

from rmqlab_tools.cli.cli import main


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "{golden}/audit", "--group", "G_p-audit-006"],
        ["events", "{golden}/base", "--id", "p-article-000", "--view", "losses", "--out", "{tmp}/tables"],
        ["agree", "a > 5", "--rows", "20", "--no-jar", "--spark", "local[2]"],
    ],
    ids=["audit", "events", "agree"],
)
def test_one_json_value_alone(spark, golden, tmp_path, capfd, arguments):
    places = {"golden": golden / "broker-4.8.0", "tmp": tmp_path}
    status = main([*[text.format(**places) for text in arguments], "--json", "-"])
    out, err = capfd.readouterr()
    assert status in {0, 3, 4}, err
    json.loads(out)
