"""A bundle of the core is made, and installed from it where no network is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from rmqlab_tools.cli import cli
from tests.proof.workshop.sandbox import WITHOUT_NETWORK, no_network

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The core's bundle, with a page that stands for a site."""
    top = tmp_path_factory.mktemp("bundle")
    (top / "site").mkdir()
    (top / "site" / "index.html").write_text("<h1>site</h1>")
    out, result = top / "for the room", top / "told.json"
    arguments = ["--out", str(out), "--extras", "", "--site", str(top / "site"), "--json", str(result)]
    assert cli.main(["bundle", *arguments]) == 0
    return out, json.loads(result.read_text())


def test_the_folder_says_what_it_is(bundle):
    out, result = bundle
    assert sorted(path.name for path in out.iterdir()) == ["START.txt", "rmqlab", "site"]
    assert result["site"]
    assert result["bytes"] < 60_000_000
    names = {path.name.partition("-")[0] for path in (out / "rmqlab" / "wheels").glob("*.whl")}
    assert {"drawsvg", "hatchling", "msgspec", "polib"} <= names
    assert "open site/index.html" in (out / "START.txt").read_text()
    assert not (out / "rmqlab" / ".git").exists()


def test_it_installs_and_runs_without_a_network(bundle, tmp_path):
    """In an empty network; where none can be had, a dead address keeps pip from asking."""
    project = tmp_path / "rmqlab"
    shutil.copytree(bundle[0] / "rmqlab", project)
    apart = list(WITHOUT_NETWORK) if no_network() else []
    dead = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "PIP_CONFIG_FILE": "/dev/null"}
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "PIP_NO_CACHE_DIR": "1", **dead}
    command = [*apart, sys.executable, str(project / "lab")]
    done = subprocess.run(
        [*command, "reproduce", "--only", "E1"], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 1 experiments agree" in done.stdout
    more = subprocess.run([*command, "site", "--out", "x"], env=environ, capture_output=True, text=True, check=False)
    assert more.returncode == 1
    assert "wheels/ lacks a package" in more.stderr


def test_what_cannot_be_is_one_clear_error(tmp_path, capsys):
    assert cli.main(["bundle", "--out", str(tmp_path)]) == 2
    assert "it exists; name a new folder" in capsys.readouterr().err
    assert cli.main(["bundle", "--out", str(tmp_path / "new"), "--extras", "notebok"]) == 2
    assert "did you mean notebook?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
