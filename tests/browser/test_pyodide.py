"""The README's first lines run in a browser's Python (Pyodide, started by Node): no pandas, no matplotlib, no socket.

What it needs beside Node lies in a folder of `.venv` after the first run: Pyodide from npm, the core's one compiled
package as the wheel for Pyodide.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import drawsvg
import pytest

from rmqlab.checkout import ROOT

PYODIDE = "314.0.7"
MSGSPEC_PLATFORM = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "314", "--implementation", "cp")
ONE_CALL_S = 300
PICTURES = """
import sys
compiled = {"numpy", "pandas", "matplotlib", "mmh3", "ipywidgets"} & set(sys.modules)
assert not compiled, compiled
drawn = [lab.grid().svg, lab.swimlane().svg, lab.timeline().svg, rmqlab.show.bars(
    lab.fates(), x="body", value="offset", title="Offsets").svg]
assert all(svg.startswith("<svg") for svg in drawn)
print("pictures", len(drawn), "lost", sum(fate.lost for fate in lab.fates()))
print("outcomes", len(lab.explore(budget=20).outcomes))
"""
SCRIPT = """
import { loadPyodide } from "pyodide";
const python = await loadPyodide({ stdout: console.log });
python.FS.mkdirTree("/site");
python.FS.mount(python.FS.filesystems.NODEFS, { root: process.argv[2] }, "/site");
python.runPython(`import sys; sys.path.insert(0, "/site")`);
python.runPython(JSON.parse(process.argv[3]));
"""


def required(program):
    """The path of a program, or a skip that says how to get it."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed: apt-get install nodejs npm")
    return path


def fetch(*command):
    """Bring a package from its registry."""
    told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=ONE_CALL_S)
    if told.returncode:
        pytest.skip(f"{command[-1]} cannot be fetched: {told.stderr.strip()[-300:]}")


@pytest.fixture(scope="module")
def folder():
    """Pyodide, and beside it what a browser would be given: the package and its core packages."""
    required("node")
    npm = required("npm")
    place = Path(sys.prefix) / f"pyodide-{PYODIDE}"
    site = place / "site"
    if not (place / "node_modules" / "pyodide").is_dir():
        place.mkdir(exist_ok=True)
        fetch(npm, "install", "--silent", "--no-package-lock", "--prefix", str(place), f"pyodide@{PYODIDE}")
    if not (site / "msgspec").is_dir():
        wanted = ["--no-deps", "--only-binary=:all:", *MSGSPEC_PLATFORM, "--abi", "cp314", "--dest", str(place)]
        fetch(sys.executable, "-m", "pip", "download", "--quiet", *wanted, f"msgspec=={version('msgspec')}")
        (wheel,) = place.glob("msgspec-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    shutil.copytree(Path(drawsvg.__file__).parent, site / "drawsvg", dirs_exist_ok=True)
    shutil.rmtree(site / "rmqlab", ignore_errors=True)
    shutil.copytree(ROOT / "rmqlab", site / "rmqlab", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "run.mjs").write_text(SCRIPT, encoding="utf-8")
    return place


def test_the_first_lines_of_the_readme_run_in_a_browsers_python(folder):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```python\n(import rmqlab\n\nlab = .*?)```", text, re.DOTALL)[1]
    assert len([line for line in first.splitlines() if line]) <= 10
    told = subprocess.run(
        ["node", "run.mjs", str(folder / "site"), json.dumps(first + PICTURES)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=ONE_CALL_S,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    assert "MsgStr7" in told.stdout
    assert "pictures 4 lost 6" in told.stdout
    assert re.search(r"^outcomes [1-9]", told.stdout, re.MULTILINE)
