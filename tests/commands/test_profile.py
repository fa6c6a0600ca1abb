"""The verb profile."""

from __future__ import annotations

import json

from rmqlab.cli import main
from rmqlab.lab.bloom.profile import Profile


def test_stages_ratios_and_calls(tmp_path, capsys):
    told = tmp_path / "profile.json"
    arguments = ["profile", "--messages", "3000", "--runs", "1", "--no-java", "--json", str(told)]
    assert main([*arguments, "--store", str(tmp_path)]) == 0
    found = json.loads(told.read_text())
    assert found["java"] == []
    assert found["ours"]["ratios"]["article"] == 1.299
    assert found["ours"] == json.loads((tmp_path / "profile.json").read_text())["ours"]
    assert Profile.from_json(found["ours"]).runs == 1
    text = capsys.readouterr().out
    assert "bitmap + layer 2" in text
    assert "still evaluates 1 expressions a message with the switch on" in text


def test_wrong_settings_are_told(capsys):
    assert main(["profile", "--selectivity", "2"]) == 2
    assert "selectivity is 2.0; it is a share, 0 to 1" in capsys.readouterr().err
    assert main(["profile", "--runs", "0"]) == 2
    assert "--runs 0" in capsys.readouterr().err
