"""Machine code of a zip is found again under another path, and not when the loops say something else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("numba", reason="numba is not installed: ./lab test installs it")

from rmqlab_tools.spark.files.wide_bytes import digest_of

LOOP = """
from rmqlab_tools.spark.files.wide_bytes import compiled
@compiled
def doubled(number):
    return {factor} * number
"""
ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from rmqlab_tools.spark.files.loop import doubled
value = doubled(21)
print(json.dumps([doubled.__code__.co_filename, value, sum(doubled.stats.cache_hits.values())]))
"""


def shipped(folder, root, factor):
    folder.mkdir()
    path = folder / "rmqlab.zip"
    with zipfile.ZipFile(path, "w") as archive:
        module = "rmqlab_tools/spark/files/wide_bytes.py"
        archive.write(root / module, module)
        archive.writestr("rmqlab_tools/spark/files/loop.py", LOOP.format(factor=factor))
        for name in ("rmqlab_tools", "rmqlab_tools/spark", "rmqlab_tools/spark/files"):
            archive.writestr(f"{name}/__init__.py", "")
    return path


def test_another_job_finds_the_machine_code_of_the_same_loops(tmp_path, root):
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environ |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}

    def ask(path):
        told = subprocess.run(
            [sys.executable, "-P", "-c", ASK, str(path)],
            capture_output=True, text=True, check=True, cwd=tmp_path, env=environ,
        )  # fmt: skip
        file, *found = json.loads(told.stdout)
        assert file.startswith(str(path))
        return found

    first, again = shipped(tmp_path / "a", root, 2), shipped(tmp_path / "b", root, 2)
    other = shipped(tmp_path / "c", root, 3)
    assert ask(first) == [42, 0]
    assert ask(again) == [42, 1]
    assert ask(other) == [63, 0]
    module = "rmqlab_tools/spark/files/loop.py"
    assert digest_of(first, module) == digest_of(again, module) != digest_of(other, module)
