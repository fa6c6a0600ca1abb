"""The verb profile."""

from __future__ import annotations

import json

import pytest

from rmqlab_tools.cli.cli import main
from tests.proof.bloom.map import read_map
from tests.proof.bloom.workload import ARTICLE, Workload
from tests.proof.commands import profile


def test_stages_and_ratios(tmp_path, capsys):
    path = tmp_path / "profile.json"
    arguments = ["profile", "--messages", "60", "--processes", "1", "--no-java", "--user-properties"]
    assert main([*arguments, "--json", str(path)]) == 0
    (cell,) = json.loads(path.read_text())["cells"]
    assert (cell["messages"], cell["groups"], cell["user_properties"]) == (60, 1, True)
    assert (cell["matched"], cell["passed"], len(cell["ours"])) == (60, 60, 1)
    assert "java" not in cell
    text = capsys.readouterr().out
    assert "the article's figures make 1.30 of the first" in text
    assert "write extension" in text


def test_the_map_is_kept_as_it_is_read(tmp_path, capsys, monkeypatch):
    few = [Workload(60, 2, share, "8 tags", user_properties=True) for share in (0.0, 1.0)]
    monkeypatch.setattr(profile, "map_workloads", lambda: [*few, ARTICLE])
    assert main(["profile", "--map", "--processes", "1", "--no-java", "--store", str(tmp_path)]) == 0
    kept = read_map(tmp_path / "map.jsonl")
    assert [cell.workload for cell in kept.cells] == few
    assert kept.bare.workload == ARTICLE
    assert "8 tags, by groups  2: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--selectivity", "2"], "selectivity is 2.0; it is a share, 0 to 1"),
        (["--processes", "0"], "--processes 0: at least one is needed"),
        (["--store", "here"], "--store keeps the map: give --map with it"),
    ],
)
def test_wrong_settings_are_told(given, problem, capsys):
    assert main(["profile", *given]) == 2
    assert problem in capsys.readouterr().err
