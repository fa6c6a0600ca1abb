"""The README's first lines run in a browser's Python (Pyodide, started by Node): no pandas, no matplotlib, no socket.

What it needs beside Node lies in a folder of `.venv` after the first run: Pyodide from npm, the core's one compiled
package as the wheel for Pyodide.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from tests.proof.site.playgrounds import packages, pyodide

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


@pytest.fixture(scope="module")
def folder():
    """Pyodide, and beside it what a browser would be given: the package and its core packages."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: apt-get install nodejs npm")
    try:
        place = pyodide()
    except BadInput as error:
        pytest.skip(str(error))
    site = place / "site"
    shutil.rmtree(site, ignore_errors=True)
    for name, content in packages(place):
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
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
