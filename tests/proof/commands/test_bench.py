"""The verb bench."""

from __future__ import annotations

import json

import pytest

from rmqlab_tools.cli.cli import main

pytestmark = pytest.mark.slow


def test_values_with_spread_and_ratio(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert main(["bench", "eight", "--runs", "1", "--json", str(path)]) == 0
    result = json.loads(path.read_text())["eight"]
    assert result["unit"] == "runs/s"
    assert result["runs"] == 1
    assert 0 < result["low"] <= result["value"] <= result["high"]
    assert result["ratio"] == result["value"] / result["reference"]
    text = capsys.readouterr().out
    assert text.startswith("eight: ")
    assert "times" in text


def test_names_are_listed_and_checked(capsys):
    assert main(["bench", "--list"]) == 0
    assert {"events", "eight", "import", "reproduce"} <= {
        row.split()[0] for row in capsys.readouterr().out.splitlines()
    }
    assert main(["bench", "nothing"]) == 2
    assert "no benchmark 'nothing'" in capsys.readouterr().err
    assert main(["bench", "--runs", "0"]) == 2
    assert "--runs 0" in capsys.readouterr().err
